import { once } from 'node:events';
import { apnOf } from '../../demo/apn.ts';

/** The input of every program that is measured. */
export interface Task {
  /** URL of the county. */
  readonly url: string;
  /** For its files; it is removed afterwards. */
  readonly folder: string;
  readonly items: number;
  /** Worker processes; ours only. */
  readonly workers: number;
  readonly concurrency: number;
  /** Pages that are fetched before the clock runs: a compiler, connections and caches are warm by then. */
  readonly warmUp: number;
}

/**
 * The side of a program that is measured: it warms up, reports that, and then does as many items as each message from the
 * parent says, and reports that. It lives until the parent disconnects, because its resource use is read while it lives.
 */
export async function runSubject<T extends Task>(
  work: (apns: readonly string[], task: T) => Promise<void>,
  close: () => Promise<void> = async () => {},
): Promise<void> {
  const task: T = JSON.parse(process.argv[2] ?? '{}');
  process.once('disconnect', () => void close().finally(() => process.exit()));
  await work(parcels(0, task.warmUp), task);
  process.send?.('warm');
  for (let done = task.warmUp; ; ) {
    const [count]: number[] = await once(process, 'message');
    await work(parcels(done, count ?? 0), task);
    done += count ?? 0;
    process.send?.('done');
  }
}

function parcels(first: number, count: number): string[] {
  return Array.from({ length: count }, (_, index) => apnOf(first + index));
}
