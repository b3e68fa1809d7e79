/** Bytes of its JSON. A row of DynamoDB has at most 400 KB; recordings that people make have a few. */
export const MAX_SENT_BYTES = 256 * 1024;

/**
 * A recording as it was sent. Kept as written, so that every process reads it by its own rules, and small enough to be one
 * row of any database.
 */
export interface SentRecording {
  readonly document: Readonly<Record<string, unknown>>;
  /** Of the document, whatever the order of its fields: the same digest means the same steps. */
  readonly digest: string;
}

/** What a job knows of the recording that it was created with. */
export interface JobRecording {
  /** Under which the document is kept, for this job alone. */
  readonly key: string;
  readonly digest: string;
  /** `stored`: the job named a stored recording, of which it has a copy. `inline`: it came with the request. */
  readonly origin: RecordingOrigin;
  readonly steps: number;
}

export type RecordingOrigin = 'inline' | 'stored';

/** A version of a scraper that was stored as a recording. */
export interface RecordedScraper {
  readonly id: string;
  readonly version: string;
  readonly name: string;
  readonly description: string;
  readonly hosts: readonly string[];
  readonly digest: string;
  /** Under which the document is kept. */
  readonly key: string;
  readonly addedAt: number;
}

/** The version that new jobs use is the one that was added last. */
export function currentVersion(versions: readonly RecordedScraper[]): RecordedScraper | null {
  return versions.toSorted(byAge).at(-1) ?? null;
}

export function byAge(one: RecordedScraper, other: RecordedScraper): number {
  return one.addedAt - other.addedAt || (one.version < other.version ? -1 : 1);
}

/** Who a document is kept for. */
type RecordingHolder =
  | { readonly kind: 'job'; readonly jobId: string }
  | { readonly kind: 'scraper'; readonly id: string };

/** A document whose holder may not have been created: the process may have died in between. */
export interface RecordingClaim {
  readonly key: string;
  readonly holder: RecordingHolder;
  readonly at: number;
}
