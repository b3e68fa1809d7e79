import type { z } from 'zod';
import type { ArtifactKind } from '../domain/artifact.ts';
import type { Failure } from '../domain/failure.ts';
import type { ItemInput } from '../domain/item.ts';
import type { Lane } from '../domain/lane.ts';
import type { Policy } from '../domain/policy.ts';
import type { ProxyType } from '../domain/proxy-policy.ts';
import type { SeenStep } from '../domain/recording/step-statistics.ts';
import type { Secrets } from '../domain/secrets.ts';
import type { SkipReason } from '../domain/skip-reason.ts';
import type { Web } from '../egress/web.ts';
import type { BatchTurns } from '../ports/batch-turns.ts';
import type { HostGate } from '../ports/host-gate.ts';
import type { WorkerPageCache } from '../ports/page-cache.ts';
import type { WorkerPathErrors } from '../ports/path-errors.ts';
import type { Draft } from '../ports/result-store.ts';
import type { WorkerSites } from '../ports/site-book.ts';
import type { BatchScope } from './batch-scope.ts';
import type { BrowserTools } from './browser/browser-tools.ts';
import type { RobotsCheck } from './robots/robots-check.ts';
import type { SharedStates } from './shared-states.ts';
import type { UsageMeter } from './usage-meter.ts';

/** Code, or a recording, that turns the input of an item into a result. Made by one of the `define…` functions. */
export interface Scraper {
  readonly id: string;
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly kind: ScraperKind;
  readonly lane: Lane;
  /** Hosts it contacts; empty if they come with the input. */
  readonly hosts: readonly string[];
  readonly input: z.ZodType;
  /** Schema of its data. Null if it extracts none. */
  readonly output: z.ZodType | null;
  /** Whether each of its items gets a `metadata.json`, failed ones included. */
  readonly metadata: boolean;
  /** Expected failures are returned. Anything thrown is a bug, and is recorded as `unexpected`. */
  scrape(context: ScrapeContext): Promise<ScrapeResult>;
  /**
   * Parses a stored page again. It has no access to the web. Null if the scraper has no separate `parse`. It fails like
   * `scrape`.
   */
  readonly extract: ((stored: StoredInput) => ScrapeResult | Promise<ScrapeResult>) | null;
}

/** `plain`: code that needs neither the web nor a browser, as in the examples. */
export type ScraperKind = 'http' | 'browser' | 'recording' | 'plain';

export interface ScrapeContext {
  /** The same, with the input as the schema of the scraper has it. */
  withInput<Checked>(input: Checked): Omit<ScrapeContext, 'input'> & { readonly input: Checked };
  readonly jobId: string;
  /** Tells apart two jobs that had the same id, one after the other. */
  readonly jobCreatedAt: number;
  readonly itemId: string;
  readonly input: ItemInput;
  readonly policy: Policy;
  /** 1 for the first try of this attempt. */
  readonly tryNumber: number;
  /** 0 for a submitted item; for a found one, 1 more than that of the item that found it. */
  readonly depth: number;
  /** The visitor to be towards the site: 0 at first, and the next number after the site has refused the last one. */
  readonly identity: number;
  /** How to go out: `proxy.type` of the policy, or a later step of `proxy.escalate`. */
  readonly proxyType: ProxyType;
  /** Which proxy session to go out through: 0 at first, and the next number with each identity or after the proxy failed. */
  readonly proxySession: number;
  readonly batch: BatchScope;
  /** Counts what the attempt sends and receives. */
  readonly usage: UsageMeter;
  readonly tools: ScrapeTools;
  /**
   * Aborts when the item's time is over, its lease is lost, or the worker must stop. A scraper that ignores it is
   * abandoned.
   */
  readonly signal: AbortSignal;
  now(): number;
  /** Waits; rejects when `signal` aborts, so that a loop around it ends. */
  sleep(ms: number): Promise<void>;
  /** Whether another try would follow if this one ended now with this failure, by the policy and by the time left. */
  isRetried(failure: Failure): boolean;
  /**
   * Waits for something that the item did not cause, such as another item that must be alone: the time this takes is not
   * taken from the item's own.
   */
  waitUncounted<T>(wait: () => Promise<T>): Promise<T>;
  /** Room for a document of any size. It is discarded with the try unless the result names it. */
  draft(): Draft;
}

/**
 * An item of another job: its input and the pages that were kept of it. The text is that of the unnamed page; if there
 * are only named pages, that of the first.
 */
export interface StoredInput extends StoredText {
  readonly input: ItemInput;
  /** All pages with names; absent where there are none. */
  readonly pages?: ReadonlyMap<string, StoredText>;
}

/** A page that was kept. */
export interface StoredText {
  readonly body: string;
  /** Where the page was fetched; null where that was not kept. */
  readonly url: string | null;
}

/** What a worker lends to every scraper that it runs. */
export interface ScrapeTools {
  readonly web: Web;
  readonly gate: HostGate;
  readonly log: ScrapeLog;
  readonly secrets: Secrets;
  /** What `setup` of each scraper made, for all items of this process. */
  readonly states: SharedStates;
  /** Asked before each request if the policy respects robots.txt. */
  readonly robots: RobotsCheck;
  /** Null if there are no browsers: in workers of the lane `http`. */
  readonly browser: BrowserTools | null;
  /** Null if there are none: when a scraper is tried, or run on recorded pages. */
  readonly siteTools: SiteScrapeTools | null;
  /** Whether recordings may run expressions in pages: the operator's decision. */
  readonly allowsScripts: boolean;
}

/** What is known of documentation sites. */
export interface SiteScrapeTools {
  readonly sites: WorkerSites;
  readonly pageCache: WorkerPageCache;
  readonly pathErrors: WorkerPathErrors;
  readonly batchTurns: BatchTurns;
  /** Who we say we are when we pull documentation. */
  readonly userAgent: string;
}

/** Lines for the operator's log; job and item are added. */
export interface ScrapeLog {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

/** What a scraper returns; the attempt stores it. */
export interface ProducedArtifact {
  readonly kind: ArtifactKind;
  /** Set only for a `page`. */
  readonly name?: string;
  readonly bytes: Uint8Array | Draft;
  /** Set if it differs from that of the kind (`ARTIFACTS` in `domain/artifact.ts`), or the kind has none. */
  readonly contentType?: string;
  /** The same. Without the dot: png, pdf … */
  readonly extension?: string;
}

/** What a scraper knows about how it got an item (addresses, requests); it becomes part of `metadata.json`. */
export type ScrapeFacts = Readonly<Record<string, unknown>>;

/** An item that a scraper found, for the job that it works for. */
export interface FoundItem {
  /** Unique within the job. If omitted, it is derived from the input, as for submitted items. */
  readonly item_id?: string;
  readonly input: ItemInput;
  /** What it belongs to, such as a site; it matters only to a job with `batching`. */
  readonly group?: string;
}

/** `steps`: what was seen of the steps of a recording, for the statistics of the job. */
export type ScrapeResult =
  | {
      readonly kind: 'scraped';
      readonly artifacts: readonly ProducedArtifact[];
      readonly found?: readonly FoundItem[];
      readonly facts?: ScrapeFacts;
      readonly steps?: readonly SeenStep[];
    }
  /** `artifacts`: what exists of the item although nothing was fetched, such as the cached page. */
  | {
      readonly kind: 'skipped';
      readonly reason: SkipReason;
      readonly artifacts?: readonly ProducedArtifact[];
      readonly found?: readonly FoundItem[];
      readonly facts?: ScrapeFacts;
      readonly steps?: readonly SeenStep[];
    }
  /** `artifacts`: what was fetched before it failed, to be kept with the failed item. */
  | {
      readonly kind: 'failed';
      readonly failure: Failure;
      readonly artifacts?: readonly ProducedArtifact[];
      readonly facts?: ScrapeFacts;
      readonly steps?: readonly SeenStep[];
      readonly evidence?: Evidence;
    };

/** What a browser showed when an item failed. It is kept for the first items of each group of failures. */
export interface Evidence {
  readonly url: string;
  readonly page: ProducedArtifact & { readonly kind: 'failed_page' };
  /** Kept with the page. */
  readonly picture?: ProducedArtifact;
}
