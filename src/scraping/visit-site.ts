import type { z } from 'zod';
import type { Failure } from '../domain/failure.ts';
import { StorageTrouble } from '../ports/storage-trouble.ts';
import type { WithInput } from './define-scraper.ts';
import { exitsFor } from './exit-for.ts';
import { WholePage } from './extract/whole-page.ts';
import type { PageParser } from './extract-page.ts';
import { findSecret } from './find-secret.ts';
import { VisitCookies } from './http/cookies.ts';
import type { HttpClient } from './http/http-client.ts';
import { chooseIdentity, type Identity } from './http/identity.ts';
import { type NamedPage, namedPages, pageArtifact, type ReturnedPages } from './http/named-pages.ts';
import type { OpenClient } from './http/open-client.ts';
import { RequestLog } from './http/request-log.ts';
import type { ItemSetup } from './http/setup.ts';
import type { WebDocument } from './http/web-document.ts';
import type { PageToParse } from './kept-pages.ts';
import { onPage } from './page/page-fingerprint.ts';
import { checkReturned, dataOf, documentArtifact, htmlArtifact, logOf, pageOf, skip, toParse } from './returned.ts';
import { Disallowed } from './robots/disallowed.ts';
import type {
  Evidence,
  FoundItem,
  ProducedArtifact,
  ScrapeContext,
  ScrapeFacts,
  ScrapeLog,
  ScrapeResult,
} from './scraper.ts';
import { thrownFailure } from './thrown-failure.ts';

/** What `scrape` of any scraper that visits a site gets. */
export interface SiteContext<Input, State> {
  readonly input: Input;
  /** What `setup` returned; undefined for a scraper without one. */
  readonly state: State;
  /** Runs `setup` again, unless another item has just done so, and returns what it returned. */
  renew(): Promise<State>;
  /** `secret('county_key')` is TRAWL_SECRET_COUNTY_KEY, or `county_key` in the file of TRAWL_SECRETS_FILE. */
  secret(name: string): string;
  readonly http: HttpClient;
  readonly log: ScrapeLog;
  readonly itemId: string;
  /** 0 for a submitted item; for a found one, 1 more than that of the item that found it. */
  readonly depth: number;
  /** Aborts when the item's time is over. Requests observe it by themselves. */
  readonly signal: AbortSignal;
  sleep(ms: number): Promise<void>;
}

/** What `scrape` may return. */
export interface SiteResult<Data> {
  /** The page to keep. */
  readonly html?: PageToParse | string | null | undefined;
  /** More pages to keep, and answers of `http.json`, by name: `{ profile, taxes, sales }`. */
  readonly pages?: ReturnedPages | null | undefined;
  /** May be omitted if there is a `parse`. Null together with `found`: the page has links to others and no data. */
  readonly data?: Data | null | undefined;
  readonly document?: WebDocument | null | undefined;
  /** More items for this job, such as the links of a listing. Each is added once, however often it is found. */
  readonly found?: readonly FoundItem[] | null | undefined;
}

/** What a visit has in addition to its HTTP client: a browser. */
export interface Companion<Given> {
  /** The part of it that `scrape` gets. */
  readonly given: Given;
  /** The page that was read last; null before the first. */
  readonly lastPage: SeenPage | null;
  readonly isUnauthorized: boolean;
  readonly hasGoodAnswer: boolean;
  /** Does the work, and ends it when it can no longer succeed. */
  run<T>(work: () => Promise<T>): Promise<T>;
  /** The failure behind an error; the error itself if it is not one of the companion's. */
  explain(error: unknown): Promise<unknown>;
  /** What is kept of the visit in addition to what the scraper returned. */
  finish(end: 'scraped' | 'failed', returned: unknown): Promise<Finished>;
  /** Returns the failure to record instead of any other; null for none. */
  close(isGood: boolean): Promise<Failure | null>;
}

export interface Finished {
  readonly artifacts: readonly ProducedArtifact[];
  readonly facts: ScrapeFacts;
  readonly evidence: Evidence | null;
}

/** A page that came just now. */
interface SeenPage {
  readonly url: string;
  readonly body: string;
  readonly status: number | null;
  readonly fetchedAt: number;
}

type ItemContext<Input extends z.ZodType> = WithInput<ScrapeContext, Input>;

export interface SiteParts<Input extends z.ZodType, State, Given extends object> {
  readonly parser: PageParser<Input> | null;
  readonly output: z.ZodType | null;
  readonly limits: { readonly pageBytes: number };
  readonly open: OpenClient;
  readonly items: ItemSetup<State> | null;
  scrape(given: SiteContext<z.output<Input>, State> & Given): Promise<SiteResult<unknown>>;
  /** The identity of the HTTP client, if it does not choose its own. */
  readonly identity?: (state: State, chosen: Identity) => Identity;
  /** Opens what the visit has in addition to its HTTP client. */
  readonly accompany?: (visit: Accompanied<State>) => Promise<Companion<Given>>;
}

interface Accompanied<State> {
  readonly http: HttpClient;
  readonly log: ScrapeLog;
  readonly state: State;
}

/**
 * Limit within one try. A token that others have nearly used up may expire again before the item gets to its request.
 */
const MAX_VISITS = 4;

/**
 * In the first two tries an item starts over for an optional document. A document that is never available must not use
 * up the tries that the item itself may need; but the first may have been lost to an expired session.
 */
const TRIES_FOR_DOCUMENTS = 2;

/** One try of an item: a visit to its site, or several if a login has expired meanwhile. */
export async function visitSite<Input extends z.ZodType, State, Given extends object>(
  context: ItemContext<Input>,
  parts: SiteParts<Input, State, Given>,
): Promise<ScrapeResult> {
  const requests = new RequestLog();
  const { items } = parts;
  for (let visits = 1; ; visits += 1) {
    const isLast = items === null || visits === MAX_VISITS;
    const { result, hasGoodAnswer, isUnauthorized } = await visit(context, requests, parts, isLast);
    if (items === null) return result;
    if (hasGoodAnswer) items.prove();
    // The token has expired, or the login has: the item starts over with another one.
    if (isLast || result.kind !== 'failed' || result.failure.type !== 'blocked' || !isUnauthorized) return result;
    try {
      await items.renew();
    } catch (error) {
      if (error instanceof Disallowed) return skip(error, logOf(context));
      return { ...result, failure: thrownFailure(error) };
    }
  }
}

interface Visited {
  readonly result: ScrapeResult;
  readonly hasGoodAnswer: boolean;
  /** Whether the site no longer accepts the token or the login; anything else that is `blocked` concerns the visitor. */
  readonly isUnauthorized: boolean;
}

/** One visit to the site, from its beginning. */
async function visit<Input extends z.ZodType, State, Given extends object>(
  context: ItemContext<Input>,
  requests: RequestLog,
  parts: SiteParts<Input, State, Given>,
  isLast: boolean,
): Promise<Visited> {
  const { tools, policy, itemId, depth, signal } = context;
  const { items, open, parser, output, limits } = parts;
  const sleep = (ms: number) => context.sleep(ms);
  const log = logOf(context);
  const fetched: ProducedArtifact[] = [];
  let http: HttpClient | null = null;
  let companion: Companion<Given> | null = null;
  let page: PageToParse | null = null;
  let pages: readonly NamedPage[] = [];
  const lastPage = () => companion?.lastPage ?? http?.lastPage ?? null;
  const ended = (result: ScrapeResult): Visited => ({
    result,
    hasGoodAnswer: http?.hasGoodAnswer === true || companion?.hasGoodAnswer === true,
    isUnauthorized: http?.isUnauthorized === true || companion?.isUnauthorized === true,
  });
  try {
    // Without setup, State is undefined.
    const state = (items === null ? undefined : await items.get()) as State;
    const cookies = items?.cookies() ?? new VisitCookies();
    const chosen = items?.identity ?? chooseIdentity(context);
    const identity = parts.identity?.(state, chosen) ?? chosen;
    const who = { identity, exits: exitsFor(context), signal, sleep };
    const startsOver = (failure: Failure): boolean => {
      if (items !== null && failure.type === 'blocked' && client.isUnauthorized) return !isLast;
      return context.tryNumber <= TRIES_FOR_DOCUMENTS && context.isRetried(failure);
    };
    const client = open({ ...who, tools: { ...tools, log }, cookies, requests, startsOver }, context);
    http = client;
    companion = (await parts.accompany?.({ http: client, log, state })) ?? null;
    const renew = async () => {
      if (client.hasGoodAnswer || companion?.hasGoodAnswer === true) items?.prove();
      return items === null ? state : items.renew();
    };
    const secret = (name: string) => findSecret(tools.secrets, name);
    const own = { input: context.input, http: client, log, itemId, depth, signal, sleep, state, renew, secret };
    // Without a companion, nothing else is given.
    const given = (companion === null ? own : { ...own, ...companion.given }) as typeof own & Given;
    const work = () => parts.scrape(given);
    const result = checkReturned(await onPage(lastPage, () => (companion === null ? work() : companion.run(work))));
    page = pageOf(result.html, lastPage());
    pages = namedPages(
      result.pages,
      { lastPage: lastPage(), jsonAnswer: (value) => client.jsonAnswer(value) },
      limits.pageBytes,
    );
    // Before anything is made of it: a page that cannot be read today will have to be read again.
    if (page !== null && policy.results.keep_html) fetched.push(htmlArtifact(page));
    if (policy.results.keep_html) fetched.push(...pages.map(pageArtifact));
    if (result.document) fetched.push(documentArtifact(result.document));
    const data = await onPage(
      () => page ?? lastPage(),
      () => (isWithoutData(result) ? [] : dataOf(parser, output, result.data, toParse(page, pages, context.input))),
    );
    const found = result.found ? { found: result.found } : {};
    const facts = factsOf(context, page, pages, { http, lastPage: lastPage(), requests });
    if (companion === null) return ended({ kind: 'scraped', artifacts: [...fetched, ...data], ...found, facts });
    const more = await companion.finish('scraped', result);
    const poison = await companion.close(true);
    if (poison !== null) return ended({ kind: 'failed', failure: poison, facts });
    const artifacts = [...fetched, ...data, ...more.artifacts];
    return ended({ kind: 'scraped', artifacts, ...found, facts: { ...facts, ...more.facts } });
  } catch (thrown) {
    const error = companion === null ? thrown : await companion.explain(thrown);
    const more = companion === null || error instanceof Disallowed ? null : await companion.finish('failed', null);
    const poison = (await companion?.close(false)) ?? null;
    // Not the item's failure.
    if (error instanceof StorageTrouble) throw error;
    if (error instanceof Disallowed) return ended(skip(error, log));
    const facts = factsOf(context, page, pages, { http, lastPage: lastPage(), requests });
    const failure = poison ?? thrownFailure(error);
    if (more === null) return ended({ kind: 'failed', failure, artifacts: fetched, facts });
    return ended({
      ...{ kind: 'failed', failure, artifacts: [...fetched, ...more.artifacts] },
      facts: { ...facts, ...more.facts },
      ...(more.evidence !== null && { evidence: more.evidence }),
    });
  } finally {
    // Not all scrapers are type-checked: `page` may be anything with a body.
    for (const read of [lastPage(), page, ...pages.map((each) => each.page)]) {
      if (read instanceof WholePage) read.letGo();
    }
  }
}

/** A listing, which only leads to other items. */
function isWithoutData({ data, found }: SiteResult<unknown>): boolean {
  return data === null && Array.isArray(found);
}

/** What goes into `metadata.json` in addition to what the engine itself knows about the attempt. */
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
  { http, lastPage, requests }: { http: HttpClient | null; lastPage: SeenPage | null; requests: RequestLog },
): ScrapeFacts {
  const { missingDocuments = [] } = http ?? {};
  const page = kept !== null && isJustFetched(kept) ? kept : lastPage;
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

function isJustFetched(page: PageToParse): page is PageToParse & SeenPage {
  return 'fetchedAt' in page;
}
