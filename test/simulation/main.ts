import { parseArgs } from 'node:util';
import { type Census, FAULT_KINDS } from './fault-plan.ts';
import { Progress } from './progress.ts';
import { type SweepResult, sweep, type Violation } from './sweep.ts';
import { runSeed, type StoreKind } from './world.ts';

const HELP = `The engine under a virtual clock, with seeded faults.

  npm run sim -- --seeds 20000                  seeds 1 to 20000, in memory
  npm run sim -- --seeds 1000 --store sqlite    … with the real SQLite ledger
  npm run sim -- --seed 4711                    one seed; the same hash every time
  npm run sim -- --seed 4711 --trace            … and everything that happens in it

  --first K    the first of --seeds (1)
  --census     how often each kind of fault occurred
`;

/** The exit code by which a shell reports wrong usage. */
const BAD_USAGE = 2;

await main();

async function main(): Promise<void> {
  const options = readOptions();
  if (options === null) {
    process.stdout.write(HELP);
    process.exitCode = BAD_USAGE;
  } else if (options.seed !== null) {
    await runOne(options.seed, options.store, options);
  } else {
    await runMany(options.first, options.seeds, options.store, options.census);
  }
}

function readOptions() {
  try {
    const { values } = parseArgs({
      options: {
        seeds: { type: 'string', default: '1000' },
        first: { type: 'string', default: '1' },
        seed: { type: 'string' },
        store: { type: 'string', default: 'memory' },
        trace: { type: 'boolean', default: false },
        census: { type: 'boolean', default: false },
      },
    });
    const store: StoreKind | null = values.store === 'memory' || values.store === 'sqlite' ? values.store : null;
    const [seeds, first] = [whole(values.seeds), whole(values.first)];
    const seed = values.seed === undefined ? null : whole(values.seed);
    if (store === null || seeds === null || first === null || (values.seed !== undefined && seed === null)) return null;
    return { store, seeds, first, seed, trace: values.trace, census: values.census };
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n`);
    return null;
  }
}

function whole(text: string): number | null {
  return /^\d{1,9}$/.test(text) && Number(text) > 0 ? Number(text) : null;
}

async function runOne(seed: number, store: StoreKind, show: { trace: boolean; census: boolean }): Promise<void> {
  const print = (line: string) => process.stdout.write(`${line}\n`);
  const run = await runSeed({ seed, store, ...(show.trace ? { print } : {}) });
  if (show.census) printCensus(run.census);
  if (run.violation !== null) {
    printViolation({ seed, message: run.violation, last: show.trace ? [] : run.last, faults: run.faults }, store);
    process.exitCode = 1;
  }
  const seconds = (run.virtualMs / 1000).toFixed(1);
  print(`seed ${seed} (${store}): ${run.lines} lines of trace in ${seconds} virtual seconds, hash ${run.hash}`);
}

async function runMany(first: number, seeds: number, store: StoreKind, wantsCensus: boolean): Promise<void> {
  const startedAt = performance.now();
  const progress = new Progress(seeds);
  const result = await sweep({
    first,
    seeds,
    store,
    onProgress: (done, violations) => progress.show(done, violations),
    onViolation: (violation) => {
      progress.clear();
      printViolation(violation, store);
    },
  });
  progress.clear();
  if (wantsCensus) printCensus(result.census);
  printSum(result, seeds, store, (performance.now() - startedAt) / 1000);
  if (result.violations > 0) process.exitCode = 1;
}

function printSum(result: SweepResult, seeds: number, store: StoreKind, seconds: number): void {
  const { violations, virtualMs, steps, hash } = result;
  const rate = Math.round(seeds / seconds);
  process.stdout.write(
    `${seeds} seeds (${store}) in ${seconds.toFixed(1)} s (${rate}/s): ${violations} violations; ` +
      `${(virtualMs / 3_600_000).toFixed(1)} virtual hours, ${steps} steps, hash ${hash}\n`,
  );
}

function printViolation({ seed, message, last, faults }: Violation, store: StoreKind): void {
  const shown = last.map((line) => `    ${line.slice(0, 240)}`);
  process.stdout.write(
    `\nVIOLATION in seed ${seed} (${store}): ${message}\n  faults: ${faults.join(', ')}\n${shown.join('\n')}\n` +
      `  replay: npm run sim -- --seed ${seed} --store ${store} --trace\n\n`,
  );
}

/** Kinds that never occurred are shown too: they are gaps. */
function printCensus(census: Census): void {
  for (const kind of FAULT_KINDS) if (!census.has(kind)) census.set(kind, 0);
  for (const [kind, count] of [...census].sort(([one], [other]) => one.localeCompare(other))) {
    process.stdout.write(`${String(count).padStart(9)}  ${kind}\n`);
  }
}
