/** The figures of one run, by their path in its JSON: `rows.trawl.rss_mb`. */
export type Figures = Readonly<Record<string, number>>;

export interface Compared {
  /** Medians over the runs. */
  readonly here: number;
  readonly other: number;
  /** Here divided by other: the median over the rounds, and the lowest and highest of them. Null if the other is 0. */
  readonly ratio: number | null;
  readonly lowest: number | null;
  readonly highest: number | null;
}

export interface Comparison {
  readonly figures: Readonly<Record<string, Compared>>;
  /** Figures of which the other side has none, with their medians. */
  readonly only_here: Figures;
  readonly only_other: Figures;
}

/** All numbers of a result. Entries of a list are named by their `name` if they have one, otherwise by their position. */
export function figuresOf(result: unknown): Figures {
  return Object.fromEntries(walk(result, ''));
}

function* walk(value: unknown, path: string): Generator<[string, number]> {
  if (typeof value === 'number') yield [path, value];
  if (typeof value !== 'object' || value === null) return;
  for (const [key, entry] of Object.entries(value)) {
    const name = Array.isArray(value) && hasName(entry) ? entry.name : key;
    yield* walk(entry, path === '' ? name : `${path}.${name}`);
  }
}

function hasName(entry: unknown): entry is { readonly name: string } {
  return typeof entry === 'object' && entry !== null && 'name' in entry && typeof entry.name === 'string';
}

/**
 * The n-th run of one side is compared with the n-th of the other, which ran next to it: other work of the machine at
 * that time disturbed both.
 */
export function compareRuns(here: readonly Figures[], other: readonly Figures[]): Comparison {
  const names = [...new Set([...here, ...other].flatMap(Object.keys))];
  const figures: Record<string, Compared> = {};
  const onlyHere: Record<string, number> = {};
  const onlyOther: Record<string, number> = {};
  for (const name of names) {
    const ours = valuesOf(here, name);
    const theirs = valuesOf(other, name);
    if (theirs.length === 0) onlyHere[name] = median(ours);
    else if (ours.length === 0) onlyOther[name] = median(theirs);
    else figures[name] = { here: median(ours), other: median(theirs), ...ratiosOf(here, other, name) };
  }
  return { figures, only_here: onlyHere, only_other: onlyOther };
}

function valuesOf(runs: readonly Figures[], name: string): number[] {
  return runs.flatMap((run) => run[name] ?? []);
}

function ratiosOf(here: readonly Figures[], other: readonly Figures[], name: string) {
  const ratios = here.flatMap((ours, round) => ratioOf(ours[name], other[round]?.[name]) ?? []);
  if (ratios.length === 0) return { ratio: null, lowest: null, highest: null };
  return { ratio: median(ratios), lowest: Math.min(...ratios), highest: Math.max(...ratios) };
}

function ratioOf(ours: number | undefined, theirs: number | undefined): number | null {
  if (ours === undefined || theirs === undefined) return null;
  if (ours === theirs) return 1;
  return theirs === 0 ? null : ours / theirs;
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, next) => one - next);
  const middle = sorted.length / 2;
  const low = sorted[Math.ceil(middle) - 1] ?? 0;
  return (low + (sorted[Math.floor(middle)] ?? low)) / 2;
}
