import type { StoredArtifact } from './artifact.ts';
import type { Failure } from './failure.ts';

/** What an attempt saw, once its bytes are kept. */
export type Outcome =
  | { readonly kind: 'scraped'; readonly artifacts: readonly StoredArtifact[] }
  /** `artifacts`: what there is of the item although nothing was fetched, such as the page in the cache. */
  | {
      readonly kind: 'skipped';
      readonly reason: 'cached' | 'known-bad';
      readonly artifacts?: readonly StoredArtifact[];
    }
  /** `artifacts`: the page that was fetched and how, so that it can be read again once the scraper is repaired. */
  | { readonly kind: 'failed'; readonly failure: Failure; readonly artifacts?: readonly StoredArtifact[] };

const NONE: readonly StoredArtifact[] = [];

/** What was kept, however the attempt ended. */
export function keptOf(outcome: Outcome): readonly StoredArtifact[] {
  return outcome.artifacts ?? NONE;
}
