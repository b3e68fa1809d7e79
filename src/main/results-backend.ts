import type { Config, ResultsConfig } from '../config.ts';
import type { StoredArtifact } from '../domain/artifact.ts';
import type { Clock } from '../ports/clock.ts';
import type { ResultLinks, ResultStore } from '../ports/result-store.ts';
import type { Check, InspectOptions } from './check.ts';

export type ResultsKind = ResultsConfig['kind'];

/** The settings of a process whose results are stored this way. */
type ConfigWithResults<Kind extends ResultsKind> = Config & {
  readonly results: Extract<ResultsConfig, { readonly kind: Kind }>;
};

/**
 * The relation of a process to the store: the one `owner` of a data directory, a `guest` in the directory of another
 * process, or `anyone` if the ledger is elsewhere. It decides what may be created if there are no files yet
 * (`result-home.ts`).
 */
export type ResultsRole = 'owner' | 'guest' | 'anyone';

/** A way of storing results, independent of the backend of ledger and queue; a row of `results-backends.ts`. */
export interface ResultsModule<Kind extends ResultsKind = ResultsKind> {
  /** Where results are kept, as fields for the log. */
  describe(config: ConfigWithResults<Kind>): Readonly<Record<string, string>>;
  open(config: ConfigWithResults<Kind>, clock: Clock, as: ResultsRole): Promise<OpenResults>;
  /**
   * For reading only, while another process may own them. Creates nothing: if there are no results, a message says so.
   */
  openExisting(config: ConfigWithResults<Kind>, clock: Clock): Promise<ExistingResults>;
  inspect(config: ConfigWithResults<Kind>, options: InspectOptions): Promise<readonly Check[]>;
}

export interface OpenResults {
  readonly store: ResultStore;
  /** Null if the bytes cannot be linked to. */
  readonly links: ResultLinks | null;
  /** Where a reader finds an artifact without the API: a path below the results folder, or a key in the bucket. */
  pathOf(artifact: StoredArtifact): string;
  /** Whether every item gets a manifest next to its files, for people who look into the folder. */
  readonly hasItemManifests: boolean;
  /** Whether recorded bytes are complete after the machine crashed. */
  check(artifact: StoredArtifact): Promise<boolean>;
  /** Throws StorageTrouble if nothing can be written now. */
  probe(): Promise<void>;
  /** Removes what former processes left unfinished. */
  sweep(): Promise<void>;
  /** The same repeatedly, until the signal aborts. */
  sweepEvery(everyMs: number, signal: AbortSignal, onTrouble: (error: unknown) => void): Promise<void>;
  close(): void;
}

type ExistingResults =
  | { readonly kind: 'found'; readonly store: ResultStore; close(): void }
  | { readonly kind: 'none'; readonly message: string };
