/** The names that may have been meant, nearest first, at most three. */
export function nearNames(asked: string, names: readonly string[]): readonly string[] {
  return names
    .map((name) => ({ name, far: name.includes(asked) || asked.includes(name) ? 1 : distance(asked, name) }))
    .filter(({ far }) => far <= Math.max(2, asked.length / 3))
    .sort((a, b) => a.far - b.far || (a.name < b.name ? -1 : 1))
    .slice(0, 3)
    .map(({ name }) => name);
}

/** `did you mean pima-az or pinal-az?`; otherwise the given hint. */
export function suggestName(asked: string, names: readonly string[], otherwise: string): string {
  const near = nearNames(asked, names);
  return near.length === 0 ? otherwise : `did you mean ${near.join(' or ')}?`;
}

/** The number of letters to change, add or remove to get from one to the other. */
function distance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, at) => at);
  for (const [line, letter] of [...from.slice(0, LONGEST)].entries()) {
    const next = [line + 1];
    for (const [at, other] of [...to].entries()) {
      const swapped = (row[at] ?? 0) + (letter === other ? 0 : 1);
      next.push(Math.min(swapped, (row[at + 1] ?? 0) + 1, (next[at] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}

/** Longest input that is compared; ids are shorter. */
const LONGEST = 200;
