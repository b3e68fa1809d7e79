import type { StoredArtifact } from './artifact.ts';
import type { Failure } from './failure.ts';

/** `cached`: there is no need to ask. `known-bad`: there is no use in asking. `robots`: the site does not want to be asked. */
export const SKIP_REASONS = ['cached', 'known-bad', 'robots'] as const;
export type SkipReason = (typeof SKIP_REASONS)[number];

const REASONS: ReadonlySet<unknown> = new Set(SKIP_REASONS);

export function isSkipReason(value: unknown): value is SkipReason {
  return REASONS.has(value);
}

/** What an attempt saw, once its bytes are kept. */
export type Outcome =
  | { readonly kind: 'scraped'; readonly artifacts: readonly StoredArtifact[] }
  /** `artifacts`: what there is of the item although nothing was fetched, such as the page in the cache. */
  | {
      readonly kind: 'skipped';
      readonly reason: SkipReason;
      readonly artifacts?: readonly StoredArtifact[];
    }
  /** `artifacts`: the page that was fetched and how, so that it can be read again once the scraper is repaired. */
  | { readonly kind: 'failed'; readonly failure: Failure; readonly artifacts?: readonly StoredArtifact[] };

const NONE: readonly StoredArtifact[] = [];

/** What was kept, however the attempt ended. */
export function keptOf(outcome: Outcome): readonly StoredArtifact[] {
  return outcome.artifacts ?? NONE;
}
