import { checkOutBoth } from './compare/checkouts.ts';
import { type Comparison, compareRuns, type Figures } from './compare/ratios.ts';
import { type Run, runBenchmark } from './compare/run-benchmark.ts';

export interface CompareResult extends Comparison {
  readonly benchmark: string;
  readonly rounds: number;
  readonly here: Side;
  readonly other: Side;
}

interface Side {
  readonly commit: string;
  /** Why the benchmark did not run on this side; an older commit may not have it. */
  readonly failed?: string;
}

/**
 * The same benchmark on this working tree and on another commit, in turns (A B B A …), because a machine is faster at one
 * hour than at another: figures of two different hours cannot be compared, ratios of neighbours can.
 */
export async function benchCompare(
  { commit, args, rounds, stop }: { commit: string; args: readonly string[]; rounds: number; stop: AbortSignal },
  say: (line: string) => void,
): Promise<CompareResult> {
  const { here, other, temporary, remove } = checkOutBoth(commit);
  try {
    const runs: Record<'here' | 'other', Run[]> = { here: [], other: [] };
    for (let round = 0; round < rounds; round += 1) {
      for (const side of round % 2 === 0 ? (['other', 'here'] as const) : (['here', 'other'] as const)) {
        if (runs[side].some(hasFailed)) continue;
        const { folder, commit: name } = side === 'here' ? here : other;
        const run = await runBenchmark(folder, args, { temporary, stop });
        runs[side].push(run);
        say(`round ${round + 1} of ${rounds}: ${side} (${name})${hasFailed(run) ? ` failed: ${run.failed}` : ''}`);
      }
    }
    return {
      benchmark: args.join(' '),
      rounds,
      here: { commit: here.commit, ...failureOf(runs.here) },
      other: { commit: other.commit, ...failureOf(runs.other) },
      ...compareRuns(figuresOfAll(runs.here), figuresOfAll(runs.other)),
    };
  } finally {
    remove();
  }
}

function hasFailed(run: Run): run is { readonly failed: string } {
  return 'failed' in run;
}

function failureOf(runs: readonly Run[]): { failed?: string } {
  const run = runs.find(hasFailed);
  return run === undefined ? {} : { failed: run.failed };
}

function figuresOfAll(runs: readonly Run[]): Figures[] {
  return runs.flatMap((run) => (hasFailed(run) ? [] : [run.figures]));
}

/** Figures that are the same on both sides in every run, such as the number of items, are left out. */
export function printComparison({ here, other, figures, only_here, only_other }: CompareResult): void {
  console.log(`here:  ${here.commit}${here.failed === undefined ? '' : `: does not run: ${here.failed}`}`);
  console.log(`other: ${other.commit}${other.failed === undefined ? '' : `: does not run: ${other.failed}`}`);
  const rows = Object.entries(figures).map(([name, { here, other, ratio, lowest, highest }]) =>
    lowest === 1 && highest === 1 && here === other
      ? []
      : [name, shown(here), shown(other), shown(ratio), `${shown(lowest)} – ${shown(highest)}`],
  );
  const alone = [
    ...Object.entries(only_here).map(([name, value]) => [name, shown(value), 'none', '', '']),
    ...Object.entries(only_other).map(([name, value]) => [name, 'none', shown(value), '', '']),
  ];
  const table = [['', 'here', 'other', 'here ÷ other', 'lowest – highest'], ...rows, ...alone];
  const width = Math.max(...table.map(([name = '']) => name.length));
  for (const [name, ...cells] of table) {
    if (name !== undefined) console.log(name.padEnd(width) + cells.map((cell) => cell.padStart(18)).join(''));
  }
}

function shown(value: number | null): string {
  if (value === null) return '–';
  return value >= 100 ? Math.round(value).toLocaleString('en-US') : String(Math.round(value * 1000) / 1000);
}
