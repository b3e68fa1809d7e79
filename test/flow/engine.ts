import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { type Config, loadConfig } from '../../src/config.ts';
import type { EngineEvent } from '../../src/controller/engine/events.ts';
import type { JobRecord } from '../../src/domain/job.ts';
import { type Engine, openEngine } from '../../src/main/engine.ts';
import '../support/warm-workers.ts';

/** A data directory of its own, removed when the test file is done. */
export function tempDataDir(): string {
  const dir = mkdtempSync(join(tmpdir(), 'trawl-flow-'));
  after(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

/** Longer than a busy machine keeps a worker waiting: a lease that runs out makes an item run twice, and tests count. */
const LEASE_MS = 30_000;

/**
 * The engine with real worker processes, as `trawl serve` runs it, for the time of `use`. There is one, unless a test is about
 * several: each costs as much as hundreds of small items.
 */
export async function withEngine<T>(
  overrides: Partial<Config>,
  use: (engine: Engine, pids: () => readonly number[]) => Promise<T>,
): Promise<T> {
  const engine = await open(overrides);
  try {
    const pool = engine.startWorkers();
    await pool.ready;
    return await use(engine, () => pool.pids());
  } finally {
    await engine.stop();
  }
}

/** The same for all tests of a file: starting worker processes is most of what a small job costs. */
export async function engineForFile(overrides: Partial<Config> = {}): Promise<Engine> {
  let stop = async () => {};
  // Added before the removal of its folder, because hooks run in the order in which they were added.
  after(() => stop());
  const engine = await open({ dataDir: tempDataDir(), ...overrides });
  stop = () => engine.stop();
  await engine.startWorkers().ready;
  return engine;
}

function open(overrides: Partial<Config>): Promise<Engine> {
  return openEngine(loadConfig({ workers: 1, slots: 8, logLevel: 'silent', leaseMs: LEASE_MS, ...overrides }));
}

/** Submits a job and answers its id. */
export async function submit(engine: Engine, request: Record<string, unknown>): Promise<string> {
  const answer = await engine.submit(request);
  if (answer.kind !== 'created') throw new Error(`not created: ${JSON.stringify(answer)}`);
  return answer.job.jobId;
}

/** What these helpers need of an engine, wherever its workers run. */
type Watched = Pick<Engine, 'ledger' | 'events'>;

/** The first event that fits, from now on. */
export function nextEvent(engine: Watched, fits: (event: EngineEvent) => boolean): Promise<EngineEvent> {
  const { promise, resolve } = Promise.withResolvers<EngineEvent>();
  const unsubscribe = engine.events.subscribe((event) => {
    if (fits(event)) resolve(event);
  });
  return promise.finally(unsubscribe);
}

/** The job, once it is as wanted. Looks whenever something happened, so that nothing has to be polled. */
export function untilJob(engine: Watched, jobId: string, isAsWanted: (job: JobRecord) => boolean): Promise<JobRecord> {
  const { promise, resolve, reject } = Promise.withResolvers<JobRecord>();
  const look = async () => {
    const job = await engine.ledger.job(jobId);
    if (job !== null && isAsWanted(job)) resolve(job);
  };
  const unsubscribe = engine.events.subscribe((event) => {
    if (event.kind === 'engine-error') reject(event.error);
    else look().catch(reject);
  });
  look().catch(reject);
  return promise.finally(unsubscribe);
}

export function untilFinished(engine: Watched, jobId: string): Promise<JobRecord> {
  return untilJob(engine, jobId, (job) => job.manifest !== null);
}

export function itemsOf(count: number, input: (index: number) => Record<string, unknown> = () => ({})) {
  return Array.from({ length: count }, (_, index) => ({ item_id: `item-${index}`, input: input(index) }));
}
