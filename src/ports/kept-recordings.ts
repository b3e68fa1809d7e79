import type { RecordingClaim, SentRecording } from '../domain/recording/kept-recording.ts';

/** Documents of recordings, each under a key that is never used again. This is the part that workers use. */
export interface WorkerRecordings {
  /** Null if nothing is kept under the key. */
  get(key: string): Promise<SentRecording | null>;
}

/**
 * A document is claimed and kept before the job or scraper that names its key is created, and confirmed afterwards. A
 * process that dies in between leaves the claim, by which the document is found and removed (`RecordingSweep`). Whatever
 * has resolved is durable; repeating a call does no harm.
 */
export interface KeptRecordings extends WorkerRecordings {
  /** Opens a claim. It comes first, before a document is kept or its holder removed. */
  claim(claim: RecordingClaim): Promise<void>;
  keep(key: string, recording: SentRecording): Promise<void>;
  /** Ends the claim. The holder exists: the document stays until it is removed. */
  confirm(key: string): Promise<void>;
  /** Removes the document and its claim. */
  remove(key: string): Promise<void>;
  /** Open claims, at most `limit` of them. */
  claims(limit: number): Promise<readonly RecordingClaim[]>;
}
