import type { ArtifactKind } from '../../domain/artifact.ts';
import type { FailureType } from '../../domain/failure.ts';
import type { ItemInput } from '../../domain/item.ts';
import type { SelectorGroup } from './selector-groups.ts';

/** What happens while a scraper is being tried, in order. */
export type TrialEvent =
  | TrialRequest
  /** At the gate of a host: it was contacted too often, or asked for a pause. */
  | { readonly kind: 'wait'; readonly host: string; readonly ms: number }
  | {
      readonly kind: 'retry';
      readonly tries: number;
      readonly type: FailureType;
      readonly message: string;
      readonly delayMs: number;
    }
  | { readonly kind: 'log'; readonly level: 'info' | 'warn'; readonly message: string; readonly fields: object };

export interface TrialRequest {
  readonly kind: 'request';
  readonly method: string;
  /** Where the answer came from, after all redirects. */
  readonly url: string;
  readonly status: number | null;
  readonly bytes: number;
  readonly ms: number;
  /** Hops before it. */
  readonly redirects: readonly { readonly url: string; readonly status: number }[];
  /** Why there was no answer; null if there was. */
  readonly problem: string | null;
}

export type TrialOutcome =
  | { readonly kind: 'data'; readonly data: unknown; readonly kept: readonly KeptBytes[] }
  | { readonly kind: 'failed'; readonly type: FailureType; readonly message: string }
  | { readonly kind: 'skipped'; readonly reason: string };

/** What a job would have stored. */
export interface KeptBytes {
  readonly kind: ArtifactKind;
  readonly bytes: number;
}

/** The last page that was received. */
export interface SeenPage {
  readonly url: string;
  readonly text: string;
}

export interface TrialReport {
  readonly scraperId: string;
  readonly version: string;
  readonly file: string;
  readonly input: ItemInput;
  /** The case of the fixture whose pages it was given; null if it went to the web. */
  readonly caseName: string | null;
  readonly outcome: TrialOutcome;
  readonly tries: number;
  readonly ms: number;
  readonly events: readonly TrialEvent[];
  readonly selectors: readonly SelectorGroup[];
  readonly page: SeenPage | null;
}
