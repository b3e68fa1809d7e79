import type { ProducedArtifact } from '../domain/artifact.ts';
import type { Failure } from '../domain/failure.ts';
import type { ItemInput } from '../domain/item.ts';
import type { Lane } from '../domain/lane.ts';
import type { Policy } from '../domain/policy.ts';

/** Code that turns the input of an item into what was seen of it. */
export interface Scraper {
  readonly id: string;
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly lane: Lane;
  /** Expected failures are returned. What is thrown is a bug, and is recorded as `unexpected`. */
  scrape(context: ScrapeContext): Promise<ScrapeResult>;
}

export interface ScrapeContext {
  readonly jobId: string;
  readonly itemId: string;
  readonly input: ItemInput;
  readonly policy: Policy;
  /** 1 for the first try of this attempt. */
  readonly tryNumber: number;
  /** Who to be towards the site: `keep` is as in the try before. */
  readonly identity: 'keep' | 'new' | 'new-proxy-session';
  /** Aborts when the item's time is over, its lease is lost, or the worker must stop. What ignores it is left behind. */
  readonly signal: AbortSignal;
  /** Waits; resolves early when `signal` aborts. */
  sleep(ms: number): Promise<void>;
}

export type ScrapeResult =
  | { readonly kind: 'scraped'; readonly artifacts: readonly ProducedArtifact[] }
  | { readonly kind: 'skipped'; readonly reason: 'cached' | 'known-bad' }
  | { readonly kind: 'failed'; readonly failure: Failure };
