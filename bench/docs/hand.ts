import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { Agent, request } from 'undici';
import { toMarkdown } from '../../src/scraping/markdown/to-markdown.ts';
import { runSubject, type Task } from '../http/subject.ts';

/**
 * The loop that one would write by hand in an hour, in its faster form: undici over connections that stay open, the same
 * conversion to Markdown, a cache of one packed file per page, and a file of results per page, all written in place. It has no
 * ledger, no retries, no limits, no robots.txt and no second process.
 */
const agent = new Agent({ connections: 16 });
/** As hard as our cache packs its contents. */
const PACKING = { level: 3 };
const MAX_AGE_MS = 604_800_000;

await runSubject(async (pages, { url, folder, concurrency }) => {
  const cache = join(folder, 'cache');
  const results = join(folder, 'results');
  for (const each of [cache, results]) mkdirSync(each, { recursive: true });
  const left = pages.values();
  const pullOn = async () => {
    for (const page of left) await pull(page, { url, cache, results });
  };
  await Promise.all(Array.from({ length: concurrency }, pullOn));
});

interface Cached {
  readonly url: string;
  readonly title: string;
  readonly content: string;
  readonly etag: string | null;
  readonly last_modified: string | null;
  readonly fetched_at: number;
}

async function pull(page: string, at: Pick<Task, 'url'> & { cache: string; results: string }): Promise<void> {
  const path = `/guide/${page}`;
  const url = at.url + path;
  const place = join(at.cache, `${createHash('sha256').update(path).digest('hex')}.json.gz`);
  const known = readCached(place);
  const isFresh = known !== null && Date.now() - known.fetched_at < MAX_AGE_MS;
  const found = isFresh ? known : await fetchPage(url, known);
  if (!isFresh) writeFileSync(place, gzipSync(JSON.stringify(found), PACKING));

  const { title, content: markdown } = found;
  const fetched_at = new Date(found.fetched_at).toISOString();
  const data = {
    type: 'page',
    site: 'docs',
    path,
    url,
    title,
    markdown,
    source: isFresh ? 'cache' : 'html',
    fetched_at,
  };
  writeFileSync(join(at.results, `${page}.json`), `${JSON.stringify({ ...data, not_modified: false })}\n`);
}

function readCached(place: string): Cached | null {
  try {
    return JSON.parse(gunzipSync(readFileSync(place)).toString());
  } catch {
    return null;
  }
}

async function fetchPage(url: string, known: Cached | null): Promise<Cached> {
  const headers: Record<string, string> = { 'user-agent': 'by-hand', accept: 'text/html' };
  if (known?.etag) headers['if-none-match'] = known.etag;
  const { statusCode, headers: answered, body } = await request(url, { dispatcher: agent, headers });
  const html = await body.text();
  if (statusCode !== 200) throw new Error(`${url} answered ${statusCode}`);
  const { markdown, title } = toMarkdown(html, { url });
  if (markdown.trim() === '') throw new Error(`${url} has no content`);
  const header = (name: string) => (typeof answered[name] === 'string' ? answered[name] : null);
  const validators = { etag: header('etag'), last_modified: header('last-modified') };
  return { url, title, content: markdown, ...validators, fetched_at: Date.now() };
}
