import type { z } from 'zod';
import { type Failure, failure } from '../../domain/failure.ts';
import type { Policy } from '../../domain/policy.ts';
import type { Deadlines, Exit, HostUsage, Limits, Visit, WebAnswer, WebFailed, WebRequest } from '../../egress/web.ts';
import type { Draft } from '../../ports/result-store.ts';
import { problemsOf } from '../define-scraper.ts';
import { classify } from '../page/classify.ts';
import { pageFingerprint } from '../page/page-fingerprint.ts';
import { titleOf } from '../page/rough-text.ts';
import { type CompiledSigns, withSigns } from '../page/signs.ts';
import { Disallowed } from '../robots/disallowed.ts';
import type { RobotsCheck } from '../robots/robots-check.ts';
import { fail, ScrapeFailure } from '../scrape-failure.ts';
import type { ScrapeTools } from '../scraper.ts';
import type { AnswerOptions } from './answer-options.ts';
import { parseJson, sourceOf } from './answer-text.ts';
import { Arrivals } from './arrivals.ts';
import { decodeText } from './charset.ts';
import type { VisitCookies } from './cookies.ts';
import { throwHeldBack } from './held-back.ts';
import type { Identity } from './identity.ts';
import { Page } from './page.ts';
import { contentOf, type PostOptions } from './post-content.ts';
import { type Bad, badAnswer, type Good, type HostedRequest, Repeater, unanswered } from './repeater.ts';
import { headersFor, type Purpose } from './request-headers.ts';
import type { RequestLog } from './request-log.ts';
import type { PageRequest, Requester } from './requester.ts';
import { robotsVisitor } from './robots-visitor.ts';
import {
  type DocumentOptions,
  DocumentSink,
  type MissingDocument,
  type OptionalDocument,
  type WebDocument,
} from './web-document.ts';

interface GetOptions extends AnswerOptions {
  /** Added to the address. */
  readonly query?: Readonly<Record<string, string | number | boolean | readonly string[]>>;
}

interface JsonOptions extends GetOptions {
  /** Makes it a POST. */
  readonly post?: PostOptions;
}

export interface HttpClientDeps {
  readonly tools: ScrapeTools;
  readonly identity: Identity;
  /** The way out of the next request. */
  readonly exits: () => Exit;
  readonly usage: HostUsage;
  readonly timeouts: Policy['timeouts'];
  readonly maxRetryAfterMs: number;
  /** The job's limit. */
  readonly maxRetries: number;
  readonly isAdaptive: boolean;
  readonly limits: { readonly pageBytes: number; readonly documentBytes: number };
  readonly signs: CompiledSigns;
  readonly allowsHost: (host: string) => boolean;
  /** Null if the policy ignores robots.txt. */
  readonly robots: RobotsCheck | null;
  readonly signal: AbortSignal;
  /** Those that the visitor already has. */
  readonly cookies: VisitCookies;
  /** Where requests are noted; a client that starts over within a try continues the log of the first. */
  readonly requests: RequestLog;
  now(): number;
  /** Whether the item should start over rather than continue without an optional document that failed like this. */
  startsOver(failure: Failure): boolean;
  /** Rejects when `signal` aborts. */
  sleep(ms: number): Promise<void>;
  draft(): Draft;
}

/**
 * One visitor of a site, for one try of an item: with cookies, a browser's headers and a memory of its current page.
 * Every answer is judged first, so that a scraper only ever sees what may be the page it requested.
 */
export class HttpClient {
  readonly #deps: HttpClientDeps;
  readonly #repeater: Repeater;
  readonly #requester: Requester<Page> = {
    open: (request, options) => this.#open(request, options),
    download: (request, options) => this.#download(request, options),
    downloadOptional: (request, options) => this.#downloadOptional(request, options),
  };
  readonly #arrivals = new Arrivals();
  readonly #missing: MissingDocument[] = [];
  #lastPage: Page | null = null;
  /** The text of each answer of `json`, for a scraper that keeps it. */
  #answers: WeakMap<object, { readonly body: string; readonly url: string }> | null = null;

  constructor(deps: HttpClientDeps) {
    this.#deps = deps;
    this.#repeater = new Repeater(deps);
  }

  /** The address may be relative to the last page. */
  async get(url: string, options: GetOptions = {}): Promise<Page> {
    return this.#open(this.#getting(url, options), options);
  }

  async post(url: string, options: PostOptions & GetOptions = {}): Promise<Page> {
    return this.#open({ ...this.#getting(url, options), method: 'POST', content: await contentOf(options) }, options);
  }

  /** The answer of an API, checked against the schema if there is one. */
  async json<Schema extends z.ZodType>(
    url: string,
    options: JsonOptions & { readonly schema: Schema },
  ): Promise<z.output<Schema>>;
  async json(url: string, options?: JsonOptions): Promise<unknown>;
  async json(url: string, options: JsonOptions & { readonly schema?: z.ZodType } = {}): Promise<unknown> {
    const { post, schema } = options;
    const asked = this.#getting(url, options);
    const request: PageRequest =
      post === undefined ? asked : { ...asked, method: 'POST', content: await contentOf(post) };
    const { answer, text } = await this.#fetch(this.#webRequest(request, options, 'json'), (answer) => {
      const { text } = sourceOf(answer);
      return this.#judge(answer, text, options) ?? { kind: 'good', value: { answer, text } };
    });
    const value = parseJson(text(), answer);
    const parsed = schema?.safeParse(value);
    if (parsed === undefined || parsed.success) {
      const given: unknown = parsed === undefined ? value : parsed.data;
      if (typeof given === 'object' && given !== null) {
        this.#answers ??= new WeakMap();
        this.#answers.set(given, { body: text(), url: answer.url });
      }
      return given;
    }
    return fail('structure_changed', `${problemsOf(parsed.error)} (${answer.url})`);
  }

  /** Streams a file of any size; it is kept only if the scraper returns it. */
  async document(url: string, options: GetOptions & DocumentOptions & OptionalDocument): Promise<WebDocument | null>;
  async document(url: string, options?: GetOptions & DocumentOptions): Promise<WebDocument>;
  async document(
    url: string,
    options: GetOptions & DocumentOptions & Partial<OptionalDocument> = {},
  ): Promise<WebDocument | null> {
    const request = this.#getting(url, options);
    return options.optional === true ? this.#downloadOptional(request, options) : this.#download(request, options);
  }

  /** Sets a cookie that the site's scripts would set: `http.setCookie(page.url, 'DISCLAIMER=1; Path=/')`. */
  setCookie(url: string, cookie: string): void {
    this.#deps.cookies.keep(this.#resolve(url).href, [cookie]);
  }

  /** The page that came last; null before the first. */
  get lastPage(): Page | null {
    return this.#lastPage;
  }

  /** Optional documents that could not be fetched. */
  get missingDocuments(): readonly MissingDocument[] {
    return this.#missing;
  }

  /** The requests so far. */
  get requests(): RequestLog {
    return this.#deps.requests;
  }

  /** The answer that `json` returned this value for; null for any other value. */
  jsonAnswer(value: object): { readonly body: string; readonly url: string } | null {
    return this.#answers?.get(value) ?? null;
  }

  get cookies(): VisitCookies {
    return this.#deps.cookies;
  }

  /** Whether the last failed request got a 401. */
  get isUnauthorized(): boolean {
    return this.#repeater.isUnauthorized;
  }

  /** Whether any answer arrived that was not a failure. */
  get hasGoodAnswer(): boolean {
    return this.#repeater.hasGoodAnswer;
  }

  async #open(request: PageRequest, options: AnswerOptions): Promise<Page> {
    const { expectElement } = options;
    const signs = withSigns(this.#deps.signs, options.signs);
    return this.#fetch(this.#webRequest(request, options, 'page'), (answer) => {
      const { url, status, headers } = answer;
      const source = sourceOf(answer);
      const arrival = this.#arrivals.describe(request, answer);
      const facts = { url, status, headers, fetchedAt: this.#deps.now(), source, arrival, signs };
      const page = new Page(facts, this.#requester);
      const hasExpected = () => expectElement !== undefined && page.has(expectElement);
      const bad = this.#judge(answer, source.text, options, hasExpected);
      if (bad !== null) return bad;
      this.#arrivals.note(answer);
      this.#lastPage = page;
      if (expectElement === undefined || page.has(expectElement)) return { kind: 'good', value: page };
      return badAnswer(answer, page.missing(expectElement));
    });
  }

  async #download(request: PageRequest, options: AnswerOptions & DocumentOptions): Promise<WebDocument> {
    const { as = null } = options;
    const asked = this.#webRequest(request, options, 'page');
    return this.#repeater.untilGood(asked, async () => {
      let sink: DocumentSink | null = null;
      try {
        const end = await this.#send(asked, {
          ...this.#documentVisit(),
          sink: (head) => {
            sink = new DocumentSink(head, as, () => this.#deps.draft());
            return sink;
          },
        });
        if (end.kind === 'failed') {
          await discard(sink);
          return unanswered(end);
        }
        const got = await endOf(sink);
        if ('draft' in got) return { kind: 'good', value: got };
        // A page came instead, and may say why.
        const text = () => decodeText(got, end.headers['content-type']);
        const bad = this.#judge(end, text, options);
        return bad ?? this.#insteadOfDocument(request, end, { as, text: got.length === 0 ? null : text() });
      } catch (error) {
        await discard(sink);
        throw error;
      }
    });
  }

  #insteadOfDocument(
    request: PageRequest,
    answer: WebAnswer,
    { as, text }: { readonly as: string | null; readonly text: string | null },
  ): Bad {
    const { status, url, headers } = answer;
    const what = text === null ? 'nothing' : `${headers['content-type'] ?? 'something'} "${titleOf(text)}"`;
    const message = `asked for a ${as ?? 'document'}, but ${what} came (${status}, ${url})`;
    const isThere = this.#arrivals.describe(request, answer).kind === 'as-asked';
    this.#arrivals.note(answer);
    const error = isThere ? new NoDocument(message) : new ScrapeFailure(failure('navigation_failed', message));
    return badAnswer(answer, error);
  }

  /** A bug of the scraper stays one. */
  async #downloadOptional(request: PageRequest, options: AnswerOptions & DocumentOptions): Promise<WebDocument | null> {
    try {
      return await this.#download(request, options);
    } catch (error) {
      const missing: MissingDocument = { url: request.url, ...this.#whyMissing(error) };
      if (this.#missing.length < MAX_MISSING) this.#missing.push(missing);
      this.#deps.tools.log.info(missing, 'an optional document is missing');
      return null;
    }
  }

  /** Rethrows errors that must not count as a missing document. */
  #whyMissing(error: unknown): Pick<MissingDocument, 'type' | 'message'> {
    if (error instanceof Disallowed) return { type: 'robots', message: error.message };
    if (!(error instanceof ScrapeFailure) || error.type === 'unexpected') throw error;
    if (!(error instanceof NoDocument) && this.#deps.startsOver(error.failure)) throw error;
    const { type, message } = error.failure;
    return { type, message };
  }

  async #fetch<T>(request: HostedRequest, read: (answer: WebAnswer) => Good<T> | Bad): Promise<T> {
    return this.#repeater.untilGood(request, async () => {
      const end = await this.#send(request, this.#pageVisit());
      return end.kind === 'failed' ? unanswered(end) : read(end);
    });
  }

  async #send(request: WebRequest, visit: Visit): Promise<WebAnswer | WebFailed> {
    const { web, log } = this.#deps.tools;
    const end = await web.send(request, visit).catch(throwHeldBack);
    log.debug(this.#deps.requests.add(request, end), 'request');
    return end;
  }

  /** Null if it may be what was requested. */
  #judge(answer: WebAnswer, text: () => string, options: AnswerOptions, hasExpected = () => false): Bad | null {
    const { maxRetryAfterMs, now } = this.#deps;
    const { expectStatus = [] } = options;
    const signs = withSigns(this.#deps.signs, options.signs);
    const { url, status, headers } = answer;
    const page = { url, status, headers, source: text, title: null };
    const found = classify(page, { signs, expectStatus, hasExpected, now: now(), maxRetryAfterMs });
    if (found === null) return null;
    return badAnswer(answer, new ScrapeFailure({ ...found, page: pageFingerprint(text()) }));
  }

  #getting(url: string, { query = {} }: GetOptions): PageRequest {
    const target = this.#resolve(url);
    for (const [name, value] of Object.entries(query)) {
      for (const each of typeof value === 'object' ? value : [value]) target.searchParams.append(name, String(each));
    }
    return { method: 'GET', url: target.href, content: null, from: this.#lastPage?.url ?? null };
  }

  #resolve(url: string): URL {
    const resolved = URL.parse(url, this.#lastPage?.url);
    if (resolved !== null) return resolved;
    const why =
      this.#lastPage === null ? 'no address, and there is no page yet that it could be relative to' : 'no address';
    return fail('unexpected', `"${url.slice(0, 200)}" is ${why}`);
  }

  #webRequest(
    { method, url, content, from }: PageRequest,
    { headers = {} }: AnswerOptions,
    purpose: Purpose,
  ): HostedRequest {
    const target = new URL(url);
    // Checked here as well as at each hop, so that the name of a forbidden host is not even looked up.
    this.#checkHost(target.host);
    const contentType = content?.contentType ?? null;
    const sent = headersFor(this.#deps.identity, { url: target, method, purpose, from, contentType, extra: headers });
    return { method, url, host: target.host, headers: sent, body: content?.body ?? null };
  }

  /**
   * `request_timeout_seconds` is what a user expects a page to take, so it limits the whole page. A large document may
   * take as long as the item, unless it falls silent.
   */
  #pageVisit(): Visit {
    const { request_timeout_seconds: seconds } = this.#deps.timeouts;
    return { ...this.#visit({ totalMs: seconds * 1000 }, this.#deps.limits.pageBytes), opensGzip: true };
  }

  #documentVisit(): Visit {
    const { item_timeout_seconds: seconds } = this.#deps.timeouts;
    return this.#visit({ totalMs: seconds * 1000 }, this.#deps.limits.documentBytes);
  }

  #visit({ totalMs }: Pick<Deadlines, 'totalMs'>, bytes: number): Visit {
    const { timeouts, signal, tools, exits, usage, robots } = this.#deps;
    const answerMs = timeouts.request_timeout_seconds * 1000;
    const limits: Limits = { rawBytes: bytes, bytes, redirects: MAX_REDIRECTS };
    const connectMs = timeouts.connect_timeout_seconds * 1000;
    const deadlines = { connectMs, firstByteMs: answerMs, silenceMs: answerMs, totalMs };
    return {
      cookies: this.#deps.cookies,
      deadlines,
      limits,
      exit: exits(),
      usage,
      checkHost: (host) => this.#checkHost(host),
      ...(robots !== null && {
        checkUrl: (url: string) => robots.check(url, robotsVisitor(this.#deps, deadlines), signal),
      }),
      gate: tools.gate,
      // A pause no longer than a request may take is waited for; for a longer one, the attempt decides.
      patienceMs: answerMs,
      sink: null,
      signal,
    };
  }

  #checkHost(host: string): void {
    if (!this.#deps.allowsHost(host)) fail('refused_address', `${host} is not one of the scraper's hosts`);
  }
}

/** A good page came instead of the document: asked again, the site would answer the same. */
class NoDocument extends ScrapeFailure {
  constructor(message: string) {
    super(failure('navigation_failed', message));
  }
}

/** As for requests: a loop of them must not make the metadata larger than the data. */
const MAX_MISSING = 100;

/** As many as browsers follow in good cases; a login that needs more is a loop. */
const MAX_REDIRECTS = 10;

async function endOf(sink: DocumentSink | null): Promise<WebDocument | Uint8Array> {
  return sink === null ? new Uint8Array() : sink.end();
}

async function discard(sink: DocumentSink | null): Promise<void> {
  await sink?.discard();
}
