import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { PRIVATE_FOLDER, RESULTS_FOLDER, RESULTS_NOTE } from './adapters/embedded/data-directory.ts';
import { openFileResultStore } from './adapters/embedded/result-store.ts';
import type { Opening } from './adapters/embedded/results/result-home.ts';
import type { Config } from './config.ts';
import type { StoredArtifact } from './domain/artifact.ts';
import type { Clock } from './ports/clock.ts';
import type { ResultLinks, ResultStore } from './ports/result-store.ts';

/** Where results are kept, whatever the ledger and the queue are on. */
export interface OpenResults {
  readonly store: ResultStore;
  /** Null where the bytes have no address of their own. */
  readonly links: ResultLinks | null;
  /** Whether bytes that were recorded are there, whole, after the machine went down. */
  check(artifact: StoredArtifact): Promise<boolean>;
  /** Throws StorageTrouble if nothing can be written now. */
  probe(): Promise<void>;
  /** Removes what former processes left unfinished. */
  sweep(): Promise<void>;
  /** The same, again and again, until the signal aborts. */
  sweepEvery(everyMs: number, signal: AbortSignal, onTrouble: (error: unknown) => void): Promise<void>;
  close(): void;
}

/** `as` says what may be made where there are no files yet (`result-home.ts`); a bucket is the same for all. */
export async function openResults(config: Config, clock: Clock, as: Opening['as']): Promise<OpenResults> {
  if (config.results.kind === 's3') return openInBucket(config.results.bucket, clock);
  await mkdir(config.dataDir, { recursive: true, mode: PRIVATE_FOLDER });
  const opening: Opening = as === 'owner' ? { as, noteFile: join(config.dataDir, RESULTS_NOTE) } : { as };
  const store = await openFileResultStore(resultsFolder(config), { clock, opening });
  return {
    store,
    links: null,
    check: (artifact) => store.check(artifact),
    probe: () => store.probe(),
    async sweep() {
      await store.sweep();
    },
    sweepEvery: (everyMs, signal, onTrouble) => store.sweepEvery(everyMs, signal, onTrouble),
    close() {},
  };
}

async function openInBucket(bucket: string, clock: Clock): Promise<OpenResults> {
  const { openBucketResults } = await import('./wiring-s3.ts');
  const { store, close } = openBucketResults(bucket, clock);
  return {
    store,
    links: store,
    // What S3 has answered for survives any machine of ours.
    check: async () => true,
    probe: () => store.probe(),
    sweep: async () => {},
    sweepEvery: async () => {},
    close,
  };
}

export function resultsFolder({ dataDir }: Pick<Config, 'dataDir'>): string {
  return join(dataDir, RESULTS_FOLDER);
}
