import type { Failure } from '../../domain/failure.ts';
import type { Deadlines, Visit } from '../web.ts';

/** What is the same for everything that a browser does in one try of an item. */
export interface BrowserVisit
  extends Pick<Visit, 'exit' | 'usage' | 'checkHost' | 'checkUrl' | 'gate' | 'patienceMs' | 'signal'> {
  /** The job that the item belongs to, whose pages are alike; null if it has none, or if they are not. */
  readonly job: string | null;
  readonly deadlines: Pick<Deadlines, 'connectMs' | 'firstByteMs' | 'silenceMs'>;
  /** Limit for everything the browser receives, on the wire. */
  readonly maxBytes: number;
}

/** Why something was not fetched. */
export type Refusal =
  | { readonly kind: 'failed'; readonly failure: Failure; readonly url: string }
  /** What the visit's own checks and gate threw: HostHeld, a disallowed page, a foreign host. */
  | { readonly kind: 'thrown'; readonly error: unknown; readonly url: string };
