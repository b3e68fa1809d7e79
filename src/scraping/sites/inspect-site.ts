import { MAX_LLMS_BYTES, readLlmsTxt } from '../../domain/llms-txt.ts';
import { MAX_ROBOTS_BYTES } from '../../domain/robots.ts';
import type { SiteFindings } from '../../domain/site-findings.ts';
import { parsePageUrl } from '../../domain/site-url.ts';
import { MAX_SITEMAP_BYTES, readSitemap, robotsSitemaps } from '../../domain/sitemap.ts';
import { DIRECT } from '../../egress/direct-dialer.ts';
import type { Deadlines, Web, WebAnswer } from '../../egress/web.ts';
import { type HostGate, HostHeld } from '../../ports/host-gate.ts';
import type { Inspection, SiteInspector } from '../../ports/site-inspector.ts';
import { findFirst } from '../extract/find.ts';
import { parseHtml } from '../extract/parse-html.ts';
import { visibleText } from '../extract/visible-text.ts';
import { decodeText } from '../http/charset.ts';
import { ScrapeFailure } from '../scrape-failure.ts';
import { findContent, wordsIn } from './find-content.ts';

export interface InspectDeps {
  readonly web: Web;
  readonly gate: HostGate;
  readonly userAgent: string;
}

const DEADLINES: Deadlines = { connectMs: 10_000, firstByteMs: 15_000, silenceMs: 10_000, totalMs: 30_000 };

/** A longer pause of a host is not waited for. */
const PATIENCE_MS = 10_000;

const MAX_PAGE_BYTES = 8 << 20;
const MAX_SITEMAPS = 3;
const HTML = 'text/html,application/xhtml+xml;q=0.9,*/*;q=0.5';

/** One request after another, like the readers of the page cache: there is no hurry to look at a site. */
export function siteInspector(deps: InspectDeps): SiteInspector {
  return {
    async inspect({ url, selector }, signal) {
      const fetch = fetcher(deps, signal);
      const parsed = parsePageUrl(url);
      if (parsed === null) return { kind: 'unreadable', message: 'It is not the address of a page.' };
      const page = await fetch(parsed.href, HTML, MAX_PAGE_BYTES);
      if (page.kind === 'failed') return { kind: 'unreadable', message: page.message };
      return await inspectPage(page, selector, fetch);
    },
  };
}

async function inspectPage(page: Fetched, selector: string | null, fetch: Fetch): Promise<Inspection> {
  const { origin } = new URL(page.url);
  let content: Pick<SiteFindings, 'title' | 'content' | 'askedWords'>;
  try {
    content = isMarkdown(page) ? MARKDOWN_ITSELF : readContent(page.text, selector);
  } catch (error) {
    if (!(error instanceof ScrapeFailure)) throw error;
    return { kind: 'unreadable', message: error.message };
  }
  const suffix = await fetch(markdownUrl(page.url), 'text/markdown,text/plain;q=0.9', MAX_PAGE_BYTES);
  const accept = await fetch(page.url, 'text/markdown', MAX_PAGE_BYTES);
  const robots = await fetch(`${origin}/robots.txt`, 'text/plain', MAX_ROBOTS_BYTES);
  return {
    kind: 'found',
    findings: {
      url: page.url,
      ...content,
      markdown: { hasSuffix: isMarkdown(suffix), hasAccept: isMarkdown(accept) },
      sitemaps: await findSitemaps(robots.kind === 'answer' ? robots.text : '', origin, fetch),
      llmsTxt: await findLlmsTxt(page.url, origin, fetch),
    },
  };
}

/** A page that is always Markdown needs no selector. */
const MARKDOWN_ITSELF = { title: null, content: { selector: null, words: 0, isInHtml: true }, askedWords: null };

function readContent(html: string, selector: string | null): Pick<SiteFindings, 'title' | 'content' | 'askedWords'> {
  const document = parseHtml(html);
  const title = findFirst(document, null, 'title');
  return {
    title: title === null ? null : visibleText(title) || null,
    content: findContent(document),
    askedWords: selector === null ? null : wordsIn(document, selector),
  };
}

async function findSitemaps(robots: string, origin: string, fetch: Fetch): Promise<SiteFindings['sitemaps']> {
  const named = robotsSitemaps(robots, origin);
  const found: SiteFindings['sitemaps'][number][] = [];
  for (const url of (named.length === 0 ? [`${origin}/sitemap.xml`] : named).slice(0, MAX_SITEMAPS)) {
    const answer = await fetch(url, 'application/xml,text/xml;q=0.9,*/*;q=0.5', MAX_SITEMAP_BYTES);
    const sitemap = answer.kind === 'answer' ? readSitemap(answer.text) : null;
    if (sitemap !== null && sitemap.urls.length > 0) found.push({ url, kind: sitemap.kind, urls: sitemap.urls.length });
  }
  return found;
}

/** In the folder of the page first: a host may have several sites. */
async function findLlmsTxt(page: string, origin: string, fetch: Fetch): Promise<SiteFindings['llmsTxt']> {
  const places = new Set([new URL('llms.txt', page).href, `${origin}/llms.txt`]);
  for (const url of places) {
    const answer = await fetch(url, 'text/plain,text/markdown;q=0.9', MAX_LLMS_BYTES);
    const index = answer.kind === 'answer' ? readLlmsTxt(answer.text, answer.url) : null;
    if (index !== null) return { url, title: index.title, urls: index.urls.length };
  }
  return null;
}

/** `/guide/` has it at `/guide/index.md` or `/guide.md`; the second is more usual, and a root only has the first. */
function markdownUrl(page: string): string {
  const url = new URL(page);
  const path = url.pathname.replace(/\/+$/, '').replace(/\.html?$/i, '');
  url.pathname = path === '' ? '/index.md' : `${path}.md`;
  url.search = '';
  return url.href;
}

/** Whether it is declared as Markdown, or is plain text and not a page. */
function isMarkdown(answer: Fetched | Unfetched): boolean {
  if (answer.kind === 'failed') return false;
  if (/^text\/(?:x-)?markdown\b/i.test(answer.contentType)) return true;
  return /\.md$/.test(new URL(answer.url).pathname) && /^text\/plain\b/i.test(answer.contentType);
}

interface Fetched {
  readonly kind: 'answer';
  readonly url: string;
  readonly text: string;
  readonly contentType: string;
}

interface Unfetched {
  readonly kind: 'failed';
  readonly message: string;
}

type Fetch = (url: string, accept: string, maxBytes: number) => Promise<Fetched | Unfetched>;

function fetcher({ web, gate, userAgent }: InspectDeps, signal: AbortSignal): Fetch {
  return async (url, accept, bytes) => {
    const headers = { 'user-agent': userAgent, accept, 'accept-encoding': 'gzip, deflate, br' };
    const visit = {
      ...{ gate, signal, deadlines: DEADLINES, patienceMs: PATIENCE_MS, sink: null, opensGzip: true as const },
      cookies: { header: () => null, keep: () => {} },
      limits: { rawBytes: bytes, bytes, redirects: 5 },
      exit: { dialer: DIRECT, session: 'inspection' },
      checkHost: () => {},
    };
    try {
      const answer = await web.send({ method: 'GET', url, headers, body: null }, visit);
      return answer.kind === 'failed' ? { kind: 'failed', message: answer.failure.message } : fetchedOf(answer);
    } catch (error) {
      if (!(error instanceof HostHeld)) throw error;
      return { kind: 'failed', message: error.message };
    }
  };
}

function fetchedOf({ status, url, body, headers }: WebAnswer): Fetched | Unfetched {
  if (status < 200 || status > 299) return { kind: 'failed', message: `${url} answered with status ${status}.` };
  const contentType = headers['content-type'] ?? '';
  return { kind: 'answer', url, text: decodeText(body, contentType), contentType };
}
