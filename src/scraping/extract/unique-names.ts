/** The second occurrence of a name gets ` (2)`, so that no value hides another. */
export function uniqueNames(names: readonly string[]): string[] {
  const written = new Set(names);
  const given = new Set<string>();
  const counts = new Map<string, number>();
  return names.map((name) => {
    let unique = name;
    // A page that writes `Tax (2)` itself keeps it.
    while (given.has(unique) || (unique !== name && written.has(unique))) {
      const count = (counts.get(name) ?? 1) + 1;
      counts.set(name, count);
      unique = `${name} (${count})`;
    }
    given.add(unique);
    return unique;
  });
}
