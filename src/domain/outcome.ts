import type { StoredArtifact } from './artifact.ts';
import type { Failure } from './failure.ts';
import type { Found } from './found.ts';
import type { SkipReason } from './skip-reason.ts';

/** What an attempt saw, once its bytes are kept. What a failed one found is not known: its next attempt finds it again. */
export type Outcome =
  | { readonly kind: 'scraped'; readonly artifacts: readonly StoredArtifact[]; readonly found?: Found }
  /** `artifacts`: what there is of the item although nothing was fetched, such as the page in the cache. */
  | {
      readonly kind: 'skipped';
      readonly reason: SkipReason;
      readonly artifacts?: readonly StoredArtifact[];
      readonly found?: Found;
    }
  /** `artifacts`: the page that was fetched and how, so that it can be read again once the scraper is repaired. */
  | { readonly kind: 'failed'; readonly failure: Failure; readonly artifacts?: readonly StoredArtifact[] };

const NONE: readonly StoredArtifact[] = [];

/** What was kept, however the attempt ended. */
export function keptOf(outcome: Outcome): readonly StoredArtifact[] {
  return outcome.artifacts ?? NONE;
}
