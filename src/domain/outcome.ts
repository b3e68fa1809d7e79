import type { StoredArtifact } from './artifact.ts';
import type { Failure } from './failure.ts';
import type { Found } from './found.ts';
import type { SkipReason } from './skip-reason.ts';

/** What an attempt saw, once its bytes are stored. A failed one reports no finds: the next attempt finds them again. */
export type Outcome =
  | { readonly kind: 'scraped'; readonly artifacts: readonly StoredArtifact[]; readonly found?: Found }
  /** `artifacts`: what exists for the item although nothing was fetched, such as the cached page. */
  | {
      readonly kind: 'skipped';
      readonly reason: SkipReason;
      readonly artifacts?: readonly StoredArtifact[];
      readonly found?: Found;
    }
  /** `artifacts`: the page that was fetched and how, so that it can be parsed again once the scraper is repaired. */
  | { readonly kind: 'failed'; readonly failure: Failure; readonly artifacts?: readonly StoredArtifact[] };

const NONE: readonly StoredArtifact[] = [];

/** The artifacts that were stored, however the attempt ended. */
export function keptOf(outcome: Outcome): readonly StoredArtifact[] {
  return outcome.artifacts ?? NONE;
}
