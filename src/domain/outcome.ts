import type { StoredArtifact } from './artifact.ts';
import type { Failure } from './failure.ts';

/** What an attempt saw, once its bytes are kept. */
export type Outcome =
  | { readonly kind: 'scraped'; readonly artifacts: readonly StoredArtifact[] }
  | { readonly kind: 'skipped'; readonly reason: 'cached' | 'known-bad' }
  | { readonly kind: 'failed'; readonly failure: Failure };
