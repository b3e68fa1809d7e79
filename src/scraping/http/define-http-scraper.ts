import type { z } from 'zod';
import { StorageTrouble } from '../../ports/storage-trouble.ts';
import { checkFacts, defineScraper, type ScraperFacts } from '../define-scraper.ts';
import { exitFor } from '../exit-for.ts';
import type { Reader } from '../extract/reader.ts';
import { StoredPage } from '../extract/stored-page.ts';
import { dataArtifact, extractPage, type PageParser } from '../extract-page.ts';
import { onPage } from '../page/page-fingerprint.ts';
import { compileSigns, type Signs } from '../page/signs.ts';
import { fail } from '../scrape-failure.ts';
import type { ProducedArtifact, ScrapeContext, ScrapeFacts, ScrapeLog, ScrapeResult, Scraper } from '../scraper.ts';
import { thrownFailure } from '../thrown-failure.ts';
import { compileHosts } from './allowed-hosts.ts';
import { HttpClient } from './http-client.ts';
import { chooseIdentity } from './identity.ts';
import { Page } from './page.ts';
import type { WebDocument } from './web-document.ts';

interface HttpFacts<Input extends z.ZodType> extends ScraperFacts<Input> {
  /** Requests elsewhere are refused, redirects too. `example.gov` is that host alone; `*.example.gov` is all below it. */
  readonly hosts: readonly string[];
  readonly limits?: { readonly pageBytes?: number; readonly documentBytes?: number };
  /** Texts by which this site says that it blocks us, is down, or has nothing: looked for in every answer. */
  readonly signs?: Signs;
}

export interface HttpScraperDefinition<Input extends z.ZodType, Output extends z.ZodType> extends HttpFacts<Input> {
  readonly output: Output;
  scrape(context: HttpScrapeContext<z.output<Input>>): Promise<HttpScrapeResult<z.input<Output>>>;
  /** Makes the data of the page, and of nothing else, so that a newer one can be run over what was kept. */
  parse?(stored: { readonly page: PageToParse; readonly input: z.output<Input> }): z.input<Output>;
}

/** Keeps pages and extracts nothing: a later version with `output` and `parse` can read what was kept. */
export interface PageScraperDefinition<Input extends z.ZodType> extends HttpFacts<Input> {
  readonly output?: undefined;
  readonly parse?: undefined;
  scrape(context: HttpScrapeContext<z.output<Input>>): Promise<HttpScrapeResult<undefined>>;
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

/**
 * In the first two tries an item starts over for an optional document. A document that is never to be had must not use up the
 * tries that the item itself may need; but the first may have gone to a lost session.
 */
const TRIES_FOR_DOCUMENTS = 2;

/** A scraper that asks for pages and reads them, without a browser. Without `output` it keeps the pages, unread. */
export function defineHttpScraper<Input extends z.ZodType, Output extends z.ZodType>(
  definition: HttpScraperDefinition<Input, Output>,
): Scraper;
export function defineHttpScraper<Input extends z.ZodType>(definition: PageScraperDefinition<Input>): Scraper;
export function defineHttpScraper<Input extends z.ZodType>(
  definition: HttpScraperDefinition<Input, z.ZodType> | PageScraperDefinition<Input>,
): Scraper {
  const { id, name, version, description, input, hosts, output = null } = definition;
  const signs = compileSigns(definition.signs ?? {});
  checkFacts(definition);
  const parser = parserOf(definition);
  const allowsHost = compileHosts(hosts);
  const limits = { ...DEFAULT_LIMITS, ...definition.limits };
  return defineScraper({
    ...{ id, name, version, description, input, output, hosts },
    kind: 'http',
    lane: 'http',
    metadata: true,
    async scrape(context): Promise<ScrapeResult> {
      const { tools, policy, itemId, signal } = context;
      const log = logOf(context);
      const http = new HttpClient({
        ...{ tools: { ...tools, log }, limits, signs, allowsHost, signal },
        identity: chooseIdentity(context),
        exit: exitFor(context),
        timeouts: policy.timeouts,
        maxRetryAfterMs: policy.retries.max_retry_after_seconds * 1000,
        maxRetries: policy.retries.max_retries,
        now: () => context.now(),
        startsOver: (failure) => context.tryNumber <= TRIES_FOR_DOCUMENTS && context.isRetried(failure),
        sleep: (ms) => context.sleep(ms),
        draft: () => context.draft(),
      });
      const sleep = (ms: number) => context.sleep(ms);
      const given = { input: context.input, http, log, itemId, signal, sleep };
      let page: PageToParse | null = null;
      const fetched: ProducedArtifact[] = [];
      try {
        const result = checkReturned(
          await onPage(
            () => http.lastPage,
            () => definition.scrape(given),
          ),
        );
        page = pageOf(result.html, http);
        // Kept before it is parsed: a page that cannot be read today is one that will have to be read again.
        if (page !== null && policy.results.keep_html) fetched.push(htmlArtifact(page));
        if (result.document) fetched.push(documentArtifact(result.document));
        const data = await onPage(
          () => page ?? http.lastPage,
          () => dataOf(parser, output, result.data, page, context.input),
        );
        return { kind: 'scraped', artifacts: [...fetched, ...data], facts: factsOf(context, page, http) };
      } catch (error) {
        // Not the item's failure.
        if (error instanceof StorageTrouble) throw error;
        const facts = factsOf(context, page, http);
        return { kind: 'failed', failure: thrownFailure(error), artifacts: fetched, facts };
      }
    },
    extract: parser && ((stored) => extractPage(parser, stored)),
  });
}

function parserOf<Input extends z.ZodType>(
  definition: HttpScraperDefinition<Input, z.ZodType> | PageScraperDefinition<Input>,
): PageParser<Input> | null {
  const { id, output } = definition;
  const parse = definition.parse?.bind(definition);
  if (parse === undefined) return null;
  // Not all scrapers are type-checked.
  if (output === undefined) throw new Error(`${id}: parse needs an output schema, which says what it makes`);
  return { output, parse };
}

function checkReturned<Result>(result: Result): NonNullable<Result> {
  if (typeof result === 'object' && result !== null) return result;
  const got = result === null ? 'null' : typeof result;
  return fail('unexpected', `scrape returned ${got}: it must return { html, data }`);
}

/** The data as one artifact; none for a scraper that keeps pages only. */
function dataOf<Input extends z.ZodType>(
  parser: PageParser<Input> | null,
  output: z.ZodType | null,
  data: unknown,
  page: PageToParse | null,
  input: z.output<Input>,
): readonly ProducedArtifact[] {
  if (output !== null) {
    const isParsed = data === undefined && parser !== null;
    return [dataArtifact(output, isParsed ? parser.parse({ page: toParse(page), input }) : data)];
  }
  if (data !== undefined) fail('invalid_output', 'scrape returned data, and the scraper has no output schema for it');
  if (page === null) fail('invalid_output', 'scrape returned no page, and the scraper has no output schema for data');
  return [];
}

/** A text that the scraper made itself counts as a page from where it was last. */
function pageOf(html: PageToParse | string | null | undefined, { lastPage }: HttpClient): PageToParse | null {
  if (typeof html === 'string') return new StoredPage(html, lastPage?.url ?? 'about:blank');
  // Not all scrapers are type-checked.
  if (html && typeof html.body !== 'string') fail('unexpected', 'the html is neither a page nor a text');
  return html ?? null;
}

function toParse(page: PageToParse | null): PageToParse {
  return page ?? fail('unexpected', 'the scraper returned neither data nor a page to parse');
}

/** What goes into `metadata.json` beside what the engine itself knows of the attempt. */
function factsOf(
  {
    input,
    tryNumber,
    identity,
    now,
  }: Pick<ScrapeContext, 'tryNumber' | 'identity' | 'now'> & {
    readonly input: unknown;
  },
  kept: PageToParse | null,
  { lastPage, requests, missingDocuments }: HttpClient,
): ScrapeFacts {
  const page = kept instanceof Page ? kept : lastPage;
  return {
    input,
    url: page?.url ?? null,
    status: page?.status ?? null,
    fetched_at: page === null && requests.count === 0 ? null : new Date(page?.fetchedAt ?? now()).toISOString(),
    try: tryNumber,
    identity,
    request_count: requests.count,
    requests: requests.records,
    ...(missingDocuments.length > 0 && { missing_documents: missingDocuments }),
  };
}

/** Stored as UTF-8, whatever its encoding was; its `<meta>` may disagree, so readers must go by the content type. */
function htmlArtifact(page: PageToParse): ProducedArtifact {
  return { kind: 'html', bytes: Buffer.from(page.body) };
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
