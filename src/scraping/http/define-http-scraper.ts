import type { z } from 'zod';
import type { Failure } from '../../domain/failure.ts';
import { StorageTrouble } from '../../ports/storage-trouble.ts';
import { checkFacts, defineScraper, type ScraperFacts, type WithInput } from '../define-scraper.ts';
import { exitsFor } from '../exit-for.ts';
import { extractPage, type ToParse } from '../extract-page.ts';
import { findSecret } from '../find-secret.ts';
import type { PageToParse } from '../kept-pages.ts';
import { onPage } from '../page/page-fingerprint.ts';
import { compileSigns, type Signs } from '../page/signs.ts';
import {
  checkReturned,
  DEFAULT_LIMITS,
  dataOf,
  documentArtifact,
  htmlArtifact,
  logOf,
  pageOf,
  parserOf,
  skip,
  toParse,
} from '../returned.ts';
import { Disallowed } from '../robots/disallowed.ts';
import type { ProducedArtifact, ScrapeContext, ScrapeFacts, ScrapeLog, ScrapeResult, Scraper } from '../scraper.ts';
import { thrownFailure } from '../thrown-failure.ts';
import { compileHosts } from './allowed-hosts.ts';
import { VisitCookies } from './cookies.ts';
import { HttpClient } from './http-client.ts';
import { chooseIdentity } from './identity.ts';
import { type NamedPage, namedPages, pageArtifact, type ReturnedPages } from './named-pages.ts';
import { Page } from './page.ts';
import { RequestLog } from './request-log.ts';
import { type ItemSetup, type OpenClient, Setup, type SetupContext } from './setup.ts';
import type { WebDocument } from './web-document.ts';

interface HttpFacts<Input extends z.ZodType> extends ScraperFacts<Input> {
  /** Requests elsewhere are refused, redirects too. `example.gov` is that host alone; `*.example.gov` is all below it. */
  readonly hosts: readonly string[];
  readonly limits?: { readonly pageBytes?: number; readonly documentBytes?: number };
  /** Texts by which this site says that it blocks us, is down, or has nothing: looked for in every answer. */
  readonly signs?: Signs;
}

interface WithSetup<State> {
  /**
   * Run before the first item of a process, and again when a site answers 401: logs in, or fetches a token. All items share
   * what it returns, as `state`, and begin with the cookies that it was given. Write it above `scrape`.
   */
  setup?(context: SetupContext): Promise<State>;
}

export interface HttpScraperDefinition<Input extends z.ZodType, Output extends z.ZodType, State = undefined>
  extends HttpFacts<Input>,
    WithSetup<State> {
  readonly output: Output;
  scrape(context: HttpScrapeContext<z.output<Input>, NoInfer<State>>): Promise<HttpScrapeResult<z.input<Output>>>;
  /** Makes the data of the pages, and of nothing else, so that a newer one can be run over what was kept. */
  parse?(stored: ToParse<z.output<Input>>): z.input<Output>;
}

/** Keeps pages and extracts nothing: a later version with `output` and `parse` can read what was kept. */
export interface PageScraperDefinition<Input extends z.ZodType, State = undefined>
  extends HttpFacts<Input>,
    WithSetup<State> {
  readonly output?: undefined;
  readonly parse?: undefined;
  scrape(context: HttpScrapeContext<z.output<Input>, NoInfer<State>>): Promise<HttpScrapeResult<undefined>>;
}

export interface HttpScrapeContext<Input, State = unknown> {
  readonly input: Input;
  /** What `setup` returned; undefined for a scraper without one. */
  readonly state: State;
  /** Runs `setup` again, unless another item has just done so, and answers what it returned. */
  renew(): Promise<State>;
  /** `secret('county_key')` is TRAWL_SECRET_COUNTY_KEY, or `county_key` in the file of TRAWL_SECRETS_FILE. */
  secret(name: string): string;
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
  /** More pages to keep, and answers of `http.json`, by name: `{ profile, taxes, sales }`. */
  readonly pages?: ReturnedPages | null | undefined;
  /** May be left out where there is a `parse`. */
  readonly data?: Data | undefined;
  readonly document?: WebDocument | null | undefined;
}

/** In one try. A token that others have nearly used up may expire again before the item gets to its request. */
const MAX_VISITS = 4;

/**
 * In the first two tries an item starts over for an optional document. A document that is never to be had must not use up the
 * tries that the item itself may need; but the first may have gone to a lost session.
 */
const TRIES_FOR_DOCUMENTS = 2;

/** A scraper that asks for pages and reads them, without a browser. Without `output` it keeps the pages, unread. */
export function defineHttpScraper<Input extends z.ZodType, Output extends z.ZodType, State = undefined>(
  definition: HttpScraperDefinition<Input, Output, State>,
): Scraper;
export function defineHttpScraper<Input extends z.ZodType, State = undefined>(
  definition: PageScraperDefinition<Input, State>,
): Scraper;
export function defineHttpScraper<Input extends z.ZodType, State>(
  definition: HttpScraperDefinition<Input, z.ZodType, State> | PageScraperDefinition<Input, State>,
): Scraper {
  const { id, name, version, description, input, hosts, output = null } = definition;
  const signs = compileSigns(definition.signs ?? {});
  checkFacts(definition);
  const parser = parserOf(definition);
  const allowsHost = compileHosts(hosts);
  const limits = { ...DEFAULT_LIMITS, ...definition.limits };
  const open: OpenClient = (who, context) => {
    const { policy } = context;
    return new HttpClient({
      ...{ ...who, limits, signs, allowsHost },
      now: () => context.now(),
      draft: () => context.draft(),
      timeouts: policy.timeouts,
      usage: context.usage.through(context.proxyType),
      maxRetryAfterMs: policy.retries.max_retry_after_seconds * 1000,
      maxRetries: policy.retries.max_retries,
      isAdaptive: policy.throttling.adaptive,
      robots: policy.robots === 'respect' ? who.tools.robots : null,
    });
  };
  const setup = definition.setup && new Setup(id, definition.setup.bind(definition), open);

  /** One visit to the site, from its beginning. */
  async function visit(
    context: WithInput<ScrapeContext, Input>,
    requests: RequestLog,
    { items, isLast }: { readonly items: ItemSetup<State> | null; readonly isLast: boolean },
  ): Promise<Visited> {
    const { tools, policy, itemId, signal } = context;
    const sleep = (ms: number) => context.sleep(ms);
    const log = logOf(context);
    const fetched: ProducedArtifact[] = [];
    let http: HttpClient | null = null;
    let page: PageToParse | null = null;
    let pages: readonly NamedPage[] = [];
    try {
      // Without setup, State is undefined.
      const state = (items === null ? undefined : await items.get()) as State;
      const cookies = items?.cookies() ?? new VisitCookies();
      const identity = items?.identity ?? chooseIdentity(context);
      const who = { identity, exits: exitsFor(context), signal, sleep };
      const startsOver = (failure: Failure): boolean => {
        if (items !== null && isUnauthorized(failure, client)) return !isLast;
        return context.tryNumber <= TRIES_FOR_DOCUMENTS && context.isRetried(failure);
      };
      const client = open({ ...who, tools: { ...tools, log }, cookies, requests, startsOver }, context);
      http = client;
      const renew = async () => {
        if (client.hasGoodAnswer) items?.prove();
        return items === null ? state : items.renew();
      };
      const secret = (name: string) => findSecret(tools.secrets, name);
      const given = { input: context.input, http: client, log, itemId, signal, sleep, state, renew, secret };
      const result = checkReturned(
        await onPage(
          () => client.lastPage,
          () => definition.scrape(given),
        ),
      );
      page = pageOf(result.html, client.lastPage);
      pages = namedPages(result.pages, client, limits.pageBytes);
      // Before anything is made of it: what cannot be read today is what will have to be read again.
      if (page !== null && policy.results.keep_html) fetched.push(htmlArtifact(page));
      if (policy.results.keep_html) fetched.push(...pages.map(pageArtifact));
      if (result.document) fetched.push(documentArtifact(result.document));
      const data = await onPage(
        () => page ?? client.lastPage,
        () => dataOf(parser, output, result.data, toParse(page, pages, context.input)),
      );
      const facts = factsOf(context, page, pages, client, requests);
      return { result: { kind: 'scraped', artifacts: [...fetched, ...data], facts }, http };
    } catch (error) {
      // Not the item's failure.
      if (error instanceof StorageTrouble) throw error;
      if (error instanceof Disallowed) return { result: skip(error, log), http };
      const facts = factsOf(context, page, pages, http, requests);
      return { result: { kind: 'failed', failure: thrownFailure(error), artifacts: fetched, facts }, http };
    }
  }

  return defineScraper({
    ...{ id, name, version, description, input, output, hosts },
    kind: 'http',
    lane: 'http',
    metadata: true,
    async scrape(context): Promise<ScrapeResult> {
      const requests = new RequestLog();
      const items = setup?.forItem(context) ?? null;
      for (let visits = 1; ; visits += 1) {
        const isLast = items === null || visits === MAX_VISITS;
        const { result, http } = await visit(context, requests, { items, isLast });
        if (items === null || http === null) return result;
        if (http.hasGoodAnswer) items.prove();
        // The token has expired, or the login has: the item starts over with another one.
        if (isLast || result.kind !== 'failed' || !isUnauthorized(result.failure, http)) return result;
        try {
          await items.renew();
        } catch (error) {
          if (error instanceof Disallowed) return skip(error, logOf(context));
          return { ...result, failure: thrownFailure(error) };
        }
      }
    },
    extract: parser && ((stored) => extractPage(parser, stored)),
  });
}

interface Visited {
  readonly result: ScrapeResult;
  /** Null when it did not get as far as that. */
  readonly http: HttpClient | null;
}

/** The site no longer accepts the token or the login; anything else that is `blocked` concerns the visitor. */
function isUnauthorized({ type }: Failure, http: HttpClient): boolean {
  return type === 'blocked' && http.isUnauthorized;
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
  named: readonly NamedPage[],
  http: HttpClient | null,
  requests: RequestLog,
): ScrapeFacts {
  const { lastPage = null, missingDocuments = [] } = http ?? {};
  const page = kept instanceof Page ? kept : lastPage;
  return {
    input,
    url: page?.url ?? null,
    status: page?.status ?? null,
    ...(named.length > 0 && { pages: Object.fromEntries(named.map((each) => [each.name, each.page.url])) }),
    fetched_at: page === null && requests.count === 0 ? null : new Date(page?.fetchedAt ?? now()).toISOString(),
    try: tryNumber,
    identity,
    request_count: requests.count,
    requests: requests.records,
    ...(missingDocuments.length > 0 && { missing_documents: missingDocuments }),
  };
}
