/**
 * Does the work for each entry of the list, at most `limit` at a time, and returns the results in order. After a
 * failure nothing more is begun; it is thrown when everything that had been begun has ended, so that nothing continues
 * unnoticed.
 */
export async function atOnce<T, R>(
  limit: number,
  list: readonly T[],
  work: (each: T) => Promise<R>,
): Promise<readonly R[]> {
  const answers = new Map<number, R>();
  const failures: unknown[] = [];
  const rest = list.entries();
  const lane = async () => {
    for (const [index, each] of rest) {
      try {
        answers.set(index, await work(each));
      } catch (error) {
        failures.push(error);
      }
      if (failures.length > 0) return;
    }
  };
  await Promise.all(Array.from({ length: Math.min(limit, list.length) }, lane));
  if (failures.length > 0) throw failures[0];
  return list.map((_, index) => answers.get(index) as R);
}
