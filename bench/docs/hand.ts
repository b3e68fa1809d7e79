import { createHash } from 'node:crypto';
import { fdatasync, mkdirSync, openSync, readFileSync, renameSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { Agent, request } from 'undici';
import { toMarkdown } from '../../src/scraping/markdown/to-markdown.ts';
import { runSubject } from '../http/subject.ts';

/**
 * The loop that one would write by hand in an hour, in its faster form. "The same work" is what a user sees of ours afterwards:
 * - robots.txt is read once and heeded, and a page that is cached is asked for with its validators, or not at all while it is fresh;
 * - the content is chosen and converted by the same converter;
 * - content and validators are in a cache, packed as hard as ours, and the page with its metadata in a file of results, in a folder for each item;
 *   after a kill at any moment each file is there whole or not at all;
 * - a journal says of each page how it ended, with size and SHA-256 of its result, and is on the disk within a second.
 * It does not do what only a service needs: no ledger that can be queried, no retries, leases, limits of hosts and
 * sizes, second process or API.
 */
const agent = new Agent({ connections: 16 });
const PACKING = { level: 3 };
const MAX_AGE_MS = 604_800_000;
/** Pages between two syncs of the journal. */
const SYNC_EVERY = 100;

interface Room {
  readonly url: string;
  readonly cache: string;
  readonly results: string;
  readonly journal: number;
  readonly disallowed: readonly string[];
  written: number;
}

await runSubject(async (pages, { url, folder, concurrency }) => {
  const room = await openRoom(url, folder);
  const left = pages.values();
  const pullOn = async () => {
    for (const page of left) await pull(page, room);
  };
  await Promise.all(Array.from({ length: concurrency }, pullOn));
  await synced(room.journal);
});

async function openRoom(url: string, folder: string): Promise<Room> {
  const [cache, results] = [join(folder, 'cache'), join(folder, 'results')];
  for (const each of [cache, results]) mkdirSync(each, { recursive: true });
  const { body } = await request(`${url}/robots.txt`, { dispatcher: agent });
  const disallowed = [...(await body.text()).matchAll(/^disallow:[ \t]*(\S+)/gim)].flatMap(([, path]) => path ?? []);
  return { url, cache, results, journal: openSync(join(folder, 'journal.jsonl'), 'a'), disallowed, written: 0 };
}

function synced(file: number): Promise<void> {
  return new Promise((resolve, reject) => {
    fdatasync(file, (error) => (error === null ? resolve() : reject(error)));
  });
}

function writeWhole(place: string, bytes: string | Uint8Array): void {
  writeFileSync(`${place}.new`, bytes);
  renameSync(`${place}.new`, place);
}

interface Cached {
  readonly url: string;
  readonly title: string;
  readonly content: string;
  readonly etag: string | null;
  readonly last_modified: string | null;
  readonly fetched_at: number;
}

async function pull(page: string, at: Room): Promise<void> {
  const path = `/guide/${page}`;
  if (at.disallowed.some((prefix) => path.startsWith(prefix))) return;
  const url = at.url + path;
  const begun = performance.now();
  const place = join(at.cache, `${createHash('sha256').update(path).digest('hex')}.json.gz`);
  const known = readCached(place);
  const isFresh = known !== null && Date.now() - known.fetched_at < MAX_AGE_MS;
  const found = isFresh ? known : await fetchPage(url, known);
  if (!isFresh) writeWhole(place, gzipSync(JSON.stringify(found), PACKING));

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
  const result = `${JSON.stringify({ ...data, not_modified: false })}\n`;
  const file = `${page}/data.json`;
  mkdirSync(join(at.results, page), { recursive: true });
  writeWhole(join(at.results, file), result);
  const sha256 = createHash('sha256').update(result).digest('hex');
  const ended = { page, status: 'success', file, size: Buffer.byteLength(result), sha256, at: fetched_at };
  writeSync(at.journal, `${JSON.stringify({ ...ended, ms: Math.round(performance.now() - begun) })}\n`);
  at.written += 1;
  if (at.written % SYNC_EVERY === 0) await synced(at.journal);
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
  if (known?.last_modified) headers['if-modified-since'] = known.last_modified;
  const { statusCode, headers: answered, body } = await request(url, { dispatcher: agent, headers });
  const html = await body.text();
  if (statusCode === 304 && known !== null) return { ...known, fetched_at: Date.now() };
  if (statusCode !== 200) throw new Error(`${url} answered ${statusCode}`);
  const { markdown, title } = toMarkdown(html, { url });
  if (markdown.trim() === '') throw new Error(`${url} has no content`);
  const header = (name: string) => (typeof answered[name] === 'string' ? answered[name] : null);
  const validators = { etag: header('etag'), last_modified: header('last-modified') };
  return { url, title, content: markdown, ...validators, fetched_at: Date.now() };
}
