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
}

/** Pages that are fetched before the clock runs: a compiler, connections and caches are warm by then. */
const WARM_UP = 300;

/**
 * The side of a program that is measured: it warms up, reports that, waits for the signal, does its work, and reports
 * that. Then it waits until the parent disconnects, because its resource use is read while it lives.
 */
export async function runSubject(
  work: (apns: readonly string[], task: Task) => Promise<void>,
  close: () => Promise<void> = async () => {},
): Promise<void> {
  const task: Task = JSON.parse(process.argv[2] ?? '{}');
  process.once('disconnect', () => void close().finally(() => process.exit()));
  await work(parcels(0, WARM_UP), task);
  process.send?.('warm');
  await once(process, 'message');
  await work(parcels(WARM_UP, task.items), task);
  process.send?.('done');
}

function parcels(first: number, count: number): string[] {
  return Array.from({ length: count }, (_, index) => apnOf(first + index));
}
