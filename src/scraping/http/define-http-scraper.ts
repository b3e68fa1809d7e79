import type { z } from 'zod';
import { failure } from '../../domain/failure.ts';
import { checkFacts, defineScraper, type ScraperFacts } from '../define-scraper.ts';
import type { Reader } from '../extract/reader.ts';
import { StoredPage } from '../extract/stored-page.ts';
import { dataArtifact, extractPage, jsonArtifact } from '../extract-page.ts';
import { fail } from '../scrape-failure.ts';
import type { ProducedArtifact, ScrapeContext, ScrapeLog, ScrapeResult, Scraper } from '../scraper.ts';
import { compileHosts } from './allowed-hosts.ts';
import { HttpClient } from './http-client.ts';
import { identityOf } from './identity.ts';
import { Page } from './page.ts';
import { onPage } from './page-fingerprint.ts';
import { compileSigns, type Signs } from './signs.ts';
import type { WebDocument } from './web-document.ts';

export interface HttpScraperDefinition<Input extends z.ZodType, Output extends z.ZodType> extends ScraperFacts<Input> {
  readonly output: Output;
  /** Requests elsewhere are refused, redirects too. `example.gov` is that host alone; `*.example.gov` is all below it. */
  readonly hosts: readonly string[];
  readonly limits?: { readonly pageBytes?: number; readonly documentBytes?: number };
  /** Texts by which this site says that it blocks us, is down, or has nothing: looked for in every answer. */
  readonly signs?: Signs;
  scrape(context: HttpScrapeContext<z.output<Input>>): Promise<HttpScrapeResult<z.input<Output>>>;
  /** Makes the data of the page, and of nothing else, so that a newer one can be run over what was kept. */
  parse?(stored: { readonly page: PageToParse; readonly input: z.output<Input> }): z.input<Output>;
}

/** A page just fetched, or one that was kept: its text and where it came from. */
export type PageToParse = Reader & { readonly body: string };

export interface HttpScrapeContext<Input> {
  readonly input: Input;
  readonly http: HttpClient;
  readonly log: ScrapeLog;
  readonly itemId: string;
  /** Aborts when the item's time is over. Requests listen to it by themselves. */
  readonly signal: AbortSignal;
  sleep(ms: number): Promise<void>;
}

export interface HttpScrapeResult<Data> {
  /** The page to keep. */
  readonly html?: PageToParse | string | null | undefined;
  /** May be left out where there is a `parse`. */
  readonly data?: Data | undefined;
  readonly document?: WebDocument | null | undefined;
}

const MIB = 1 << 20;
/** The largest pages of counties that we know have some MiB; what is larger is a mistake, or an attack. */
const DEFAULT_LIMITS = { pageBytes: 8 * MIB, documentBytes: 100 * MIB };

/** A scraper that asks for pages and reads them, without a browser. */
export function defineHttpScraper<Input extends z.ZodType, Output extends z.ZodType>(
  definition: HttpScraperDefinition<Input, Output>,
): Scraper {
  const { id, name, version, description, input, output, hosts } = definition;
  const signs = compileSigns(definition.signs ?? {});
  checkFacts(definition);
  const allowsHost = compileHosts(hosts);
  const limits = { ...DEFAULT_LIMITS, ...definition.limits };
  const parse = definition.parse?.bind(definition);
  return defineScraper({
    ...{ id, name, version, description, input, output, hosts },
    kind: 'http',
    lane: 'http',
    async scrape(context): Promise<ScrapeResult> {
      const { tools, policy, itemId, signal } = context;
      const log = logOf(context);
      const http = new HttpClient({
        ...{ tools: { ...tools, log }, limits, signs, allowsHost, signal },
        identity: identityOf(context),
        timeouts: policy.timeouts,
        now: () => context.now(),
        draft: () => context.draft(),
      });
      const sleep = (ms: number) => context.sleep(ms);
      const given = { input: context.input, http, log, itemId, signal, sleep };
      const result = await onPage(
        () => http.lastPage,
        () => definition.scrape(given),
      );
      if (typeof result !== 'object' || result === null) {
        const message = `scrape returned ${result === null ? 'null' : typeof result}: it must return { html, data }`;
        return { kind: 'failed', failure: failure('unexpected', message) };
      }
      const page = pageOf(result.html, http);
      const kept = await onPage(
        () => page ?? http.lastPage,
        () => {
          const isParsed = result.data === undefined && parse;
          return dataArtifact(output, isParsed ? parse({ page: toParse(page), input: context.input }) : result.data);
        },
      );

      const artifacts: ProducedArtifact[] = [];
      if (page !== null && policy.results.keep_html) artifacts.push(htmlArtifact(page));
      artifacts.push(kept);
      artifacts.push(jsonArtifact('metadata', metadataOf(context, { id, version }, page, http)));
      if (result.document) artifacts.push(documentArtifact(result.document));
      return { kind: 'scraped', artifacts };
    },
    extract: parse ? (stored) => extractPage({ output, parse }, stored) : null,
  });
}

/** A text that the scraper made itself counts as a page from where it was last. */
function pageOf(html: PageToParse | string | null | undefined, { lastPage }: HttpClient): PageToParse | null {
  if (typeof html === 'string') return new StoredPage(html, lastPage?.url ?? 'about:blank');
  return html ?? null;
}

function toParse(page: PageToParse | null): PageToParse {
  return page ?? fail('unexpected', 'the scraper returned neither data nor a page to parse');
}

function metadataOf(
  { jobId, itemId, input, tryNumber, identity, now }: Omit<ScrapeContext, 'input'> & { readonly input: unknown },
  scraper: { readonly id: string; readonly version: string },
  kept: PageToParse | null,
  { lastPage, requests }: HttpClient,
): object {
  const page = kept instanceof Page ? kept : lastPage;
  return {
    job_id: jobId,
    item_id: itemId,
    scraper_id: scraper.id,
    scraper_version: scraper.version,
    input,
    url: page?.url ?? null,
    status: page?.status ?? null,
    fetched_at: new Date(page?.fetchedAt ?? now()).toISOString(),
    try: tryNumber,
    identity,
    request_count: requests.count,
    requests: requests.records,
  };
}

/** Kept as UTF-8, whatever it came in, and its `<meta>` may say otherwise: whoever reads it goes by the type. */
function htmlArtifact(page: PageToParse): ProducedArtifact {
  return { kind: 'html', bytes: Buffer.from(page.body), contentType: 'text/html; charset=utf-8', extension: 'html' };
}

function documentArtifact({ draft, contentType, extension }: WebDocument): ProducedArtifact {
  return { kind: 'document', bytes: draft, contentType, extension };
}

function logOf({ tools: { log }, jobId, itemId }: Pick<ScrapeContext, 'tools' | 'jobId' | 'itemId'>): ScrapeLog {
  const about = { job_id: jobId, item_id: itemId };
  return {
    debug: (fields, message) => log.debug({ ...about, ...fields }, message),
    info: (fields, message) => log.info({ ...about, ...fields }, message),
    warn: (fields, message) => log.warn({ ...about, ...fields }, message),
  };
}
