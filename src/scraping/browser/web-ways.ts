import type { BrowserContext, BrowserContextOptions, CDPSession, Page } from 'playwright-core';
import type { BrowserVisit } from '../../egress/browser/browser-visit.ts';
import { type CookieBook, DEFAULT_LIMITS, type Web, type WebAnswer, type WebRequest } from '../../egress/web.ts';
import { VisitCookies } from '../http/cookies.ts';
import { heldBack } from '../http/held-back.ts';
import { ScrapeFailure } from '../scrape-failure.ts';
import type { BrowserWays, ContextWay, PageLine } from './context-way.ts';

/**
 * A web of ours answers the requests of pages one by one: with recorded answers, or from a site whose answers are being
 * recorded. It is slower than a worker's way out, and sees everything.
 */
export function webWays(web: Web): BrowserWays {
  return { open: async (visit, { browser }, options) => new WebWay(web, visit, new Set(browser.block), options) };
}

interface Paused {
  readonly requestId: string;
  readonly frameId: string;
  readonly resourceType: string;
  readonly request: {
    readonly url: string;
    readonly method: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly postDataEntries?: readonly { readonly bytes?: string }[];
  };
}

/** In the words of CDP. */
const BLOCKED_TYPES: Readonly<Record<string, string>> = { Image: 'images', Media: 'media', Font: 'fonts' };

/** Set by the HTTP client itself, or useless to it. */
const NOT_PASSED_ON = ['host', 'connection', 'content-length', 'cookie', 'accept-encoding', 'transfer-encoding'];

class WebWay implements ContextWay {
  readonly options: BrowserContextOptions;
  /** The web has limits of its own. */
  readonly exceeded = new AbortController().signal;
  readonly #web: Web;
  readonly #visit: BrowserVisit;
  readonly #blocked: ReadonlySet<string>;
  /** Answers at the end of redirects, for the browser that is on its way there. */
  readonly #arrived = new Map<string, { readonly answer: WebAnswer; readonly cookies: readonly string[] }>();
  #context: BrowserContext | null = null;
  #refusal: Error | null = null;

  constructor(web: Web, visit: BrowserVisit, blocked: ReadonlySet<string>, options: BrowserContextOptions) {
    this.#web = web;
    this.#visit = visit;
    this.#blocked = blocked;
    this.options = { ...options, serviceWorkers: 'block' };
  }

  async prepare(context: BrowserContext): Promise<void> {
    this.#context = context;
  }

  async guard(page: Page): Promise<PageLine> {
    const session = await page.context().newCDPSession(page);
    const { targetInfo } = await session.send('Target.getTargetInfo');
    session.on('Fetch.requestPaused', (paused) => void this.#onPaused(session, paused, targetInfo.targetId));
    await session.send('Fetch.enable', { patterns: [{ urlPattern: '*' }] });
    return { session, mainFrame: targetInfo.targetId };
  }

  refusal(): Error | null {
    return this.#refusal;
  }

  async next(): Promise<void> {
    throw new Error('a context of recorded answers serves one visit');
  }

  async close(): Promise<void> {}

  async #onPaused(session: CDPSession, paused: Paused, mainFrame: string): Promise<void> {
    const { requestId, resourceType, frameId, request } = paused;
    const isDocument = resourceType === 'Document' && frameId === mainFrame;
    // The page may be gone by the time the answer arrives.
    const give = (method: 'Fetch.fulfillRequest' | 'Fetch.failRequest' | 'Fetch.continueRequest', params: object) =>
      session.send(method, { requestId, ...params } as never).catch(() => {});
    if (!/^https?:/.test(request.url)) {
      await give('Fetch.continueRequest', {});
      return;
    }
    if (this.#blocked.has(BLOCKED_TYPES[resourceType] ?? '')) {
      await give('Fetch.failRequest', { errorReason: 'BlockedByClient' });
      return;
    }
    if (isDocument) this.#refusal = null;
    try {
      await give('Fetch.fulfillRequest', await this.#answer(request, isDocument));
    } catch (error) {
      const refusal = heldBack(error);
      if (isDocument) this.#refusal = refusal instanceof Error ? refusal : new Error(String(refusal));
      await give('Fetch.failRequest', { errorReason: 'Failed' });
    }
  }

  async #answer(request: Paused['request'], isDocument: boolean): Promise<object> {
    const url = request.url.replace(/#.*/s, '');
    const arrived = this.#arrived.get(url);
    if (arrived !== undefined) {
      this.#arrived.delete(url);
      return fulfilment(arrived.answer, arrived.cookies);
    }
    const set: { readonly url: string; readonly line: string }[] = [];
    const book = bookOf((await this.#context?.cookies()) ?? []);
    const cookies: CookieBook = {
      header: (at) => book.header(at),
      keep(at, lines) {
        // A redirect may lead to where the cookie is asked for.
        book.keep(at, lines);
        set.push(...lines.map((line) => ({ url: at, line })));
      },
    };
    const { deadlines, maxBytes: _, checkHost, checkUrl, ...rest } = this.#visit;
    const end = await this.#web.send(webRequest({ ...request, url }), {
      ...{ ...rest, cookies, limits: DEFAULT_LIMITS, sink: null },
      deadlines: { ...deadlines, totalMs: deadlines.firstByteMs },
      checkHost: isDocument ? checkHost : () => {},
      ...(isDocument && checkUrl !== undefined && { checkUrl }),
    });
    if (end.kind === 'failed') throw new ScrapeFailure(end.failure);
    const linesAt = (host: string) => set.filter((each) => new URL(each.url).host === host).map(({ line }) => line);
    if (end.redirects.length === 0) return fulfilment(end, linesAt(new URL(url).host));
    // The browser makes the last step of the redirects itself, so that it knows its address.
    this.#arrived.set(end.url, { answer: end, cookies: linesAt(new URL(end.url).host) });
    const keepsMethod = end.redirects.every(({ status }) => status === 307 || status === 308);
    const headers = [{ name: 'location', value: end.url }, ...setCookies(linesAt(new URL(url).host))];
    return { responseCode: keepsMethod ? 307 : 303, responseHeaders: headers };
  }
}

/** The cookies of the browser, for a request and its redirects. */
function bookOf(cookies: Awaited<ReturnType<BrowserContext['cookies']>>): VisitCookies {
  const book = new VisitCookies();
  for (const { name, value, domain, path, secure } of cookies) {
    const isWide = domain.startsWith('.');
    const rest = `; Path=${path}${isWide ? `; Domain=${domain.slice(1)}` : ''}${secure ? '; Secure' : ''}`;
    book.keep(`${secure ? 'https' : 'http'}://${isWide ? domain.slice(1) : domain}${path}`, [
      `${name}=${value}${rest}`,
    ]);
  }
  return book;
}

function webRequest({ url, method, headers, postDataEntries = [] }: Paused['request']): WebRequest {
  const passed = Object.entries(headers)
    .map(([name, value]) => [name.toLowerCase(), value] as const)
    .filter(([name]) => !NOT_PASSED_ON.includes(name) && !name.startsWith(':'));
  const pieces = postDataEntries.map(({ bytes = '' }) => Buffer.from(bytes, 'base64'));
  return {
    method: method as WebRequest['method'],
    url,
    headers: Object.fromEntries(passed),
    body: pieces.length === 0 ? null : Buffer.concat(pieces),
  };
}

function fulfilment({ status, headers, body }: WebAnswer, cookies: readonly string[]): object {
  // It is inflated already.
  const kept = Object.entries(headers).filter(([name]) => name !== 'content-encoding' && name !== 'content-length');
  return {
    responseCode: status,
    responseHeaders: [...kept.map(([name, value]) => ({ name, value })), ...setCookies(cookies)],
    body: Buffer.from(body).toString('base64'),
  };
}

function setCookies(lines: readonly string[]): readonly { readonly name: string; readonly value: string }[] {
  return lines.map((value) => ({ name: 'set-cookie', value }));
}
