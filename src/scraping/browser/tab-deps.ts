import type { Download } from 'playwright-core';
import type { Policy } from '../../domain/policy.ts';
import type { Draft } from '../../ports/result-store.ts';
import type { HttpClient } from '../http/http-client.ts';
import type { CompiledSigns } from '../page/signs.ts';
import type { ScrapeLog, ScrapeTools } from '../scraper.ts';
import type { ContextWatch } from './context-watch.ts';
import type { ContextWay } from './context-way.ts';
import type { Deadline } from './deadline.ts';

/** What to click on, or where to go, for a document. */
export type DownloadWish =
  | { readonly click: string }
  /** A link, whose address is asked for without a click. */
  | { readonly link: string }
  | { readonly url: string }
  /** Whatever makes the browser download something. */
  | { readonly action: () => Promise<unknown> }
  /** One that has begun already. */
  | { readonly begun: Download };

export interface TabDeps {
  readonly tools: Pick<ScrapeTools, 'gate'>;
  readonly log: ScrapeLog;
  readonly http: HttpClient;
  readonly watch: ContextWatch;
  readonly way: Pick<ContextWay, 'refusal'>;
  readonly deadline: Deadline;
  readonly signs: CompiledSigns;
  readonly limits: { readonly pageBytes: number; readonly documentBytes: number };
  readonly policy: Policy;
  readonly allowsHost: (host: string) => boolean;
  /** Whether the browser has ended. */
  readonly isGone: () => boolean;
  /** Whether it responds: it may be frozen, or have just ended. */
  readonly isHealthy: () => Promise<boolean>;
  readonly draft: () => Draft;
  now(): number;
  /** Rejects when the try is over. */
  sleep(ms: number): Promise<void>;
}
