import type { Config, ResultsConfig } from '../config.ts';
import type { StoredArtifact } from '../domain/artifact.ts';
import type { Clock } from '../ports/clock.ts';
import type { ResultLinks, ResultStore } from '../ports/result-store.ts';
import type { Check, InspectOptions } from './check.ts';

export type ResultsKind = ResultsConfig['kind'];

/** The settings of a process whose results are kept like this. */
type ConfigWithResults<Kind extends ResultsKind> = Config & {
  readonly results: Extract<ResultsConfig, { readonly kind: Kind }>;
};

/**
 * What a process is to the store: the one `owner` of a data directory, a `guest` in the directory of another process, or
 * `anyone` where the ledger is elsewhere. It decides what may be made where there are no files yet (`result-home.ts`).
 */
export type ResultsRole = 'owner' | 'guest' | 'anyone';

/** A way of keeping results, independent of the backend that keeps ledger and queue; a row of `results-backends.ts`. */
export interface ResultsModule<Kind extends ResultsKind = ResultsKind> {
  /** Where results are kept, as fields for the log. */
  describe(config: ConfigWithResults<Kind>): Readonly<Record<string, string>>;
  open(config: ConfigWithResults<Kind>, clock: Clock, as: ResultsRole): Promise<OpenResults>;
  /** For reading alone, while another process may own them. Makes nothing: where there are none, a message says so. */
  openExisting(config: ConfigWithResults<Kind>, clock: Clock): Promise<ExistingResults>;
  inspect(config: ConfigWithResults<Kind>, options: InspectOptions): Promise<readonly Check[]>;
}

export interface OpenResults {
  readonly store: ResultStore;
  /** Null where the bytes have no address of their own. */
  readonly links: ResultLinks | null;
  /** Where a reader finds an artifact without us: a path below the results folder, or a key in the bucket. */
  pathOf(artifact: StoredArtifact): string;
  /** Whether every item gets a manifest beside its files, for those who look into the folder. */
  readonly hasItemManifests: boolean;
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

type ExistingResults =
  | { readonly kind: 'found'; readonly store: ResultStore; close(): void }
  | { readonly kind: 'none'; readonly message: string };
