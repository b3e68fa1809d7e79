import { hash } from 'node:crypto';
import { ARTIFACTS, type StoredArtifact } from '../domain/artifact.ts';
import { type FailureType, failure } from '../domain/failure.ts';
import type { SourcePage } from '../domain/item.ts';
import type { LeasedItem } from '../ports/ledger.ts';
import type { ResultStore } from '../ports/result-store.ts';
import { StorageTrouble } from '../ports/storage-trouble.ts';
import type { ScrapeResult, Scraper } from '../scraping/scraper.ts';

/** Pages are held in memory while they are read. Our scrapers keep none above their limit of some MiB. */
const MAX_PAGE_BYTES = 64 << 20;

/**
 * The work of a re-extraction: the pages that another job kept for the item, checked against their hashes and passed to
 * the scraper's `extract`. It gets a read-only store, and no access to the web.
 */
export async function extractStored(
  store: Pick<ResultStore, 'get'>,
  scraper: Scraper,
  item: LeasedItem,
  source: SourcePage,
): Promise<unknown> {
  if (typeof scraper.extract !== 'function') {
    return failed('unexpected', `${scraper.id} cannot parse stored pages: it has no parse function`);
  }
  const { html, metadata, pages = [] } = source;
  const wanted = [...(html.kind === 'page' ? [] : [html]), ...pages, ...(metadata === null ? [] : [metadata])];
  const total = wanted.reduce((sum, { size }) => sum + size, 0);
  if (total > MAX_PAGE_BYTES) return failed('too_large', `the stored pages of the item have ${total} bytes`);
  const read = new Map<StoredArtifact, Uint8Array>();
  for (const artifact of wanted) {
    const bytes = await readStored(store, artifact);
    if (!(bytes instanceof Uint8Array)) return bytes;
    read.set(artifact, bytes);
  }
  const facts = objectOf(metadata === null ? undefined : read.get(metadata));
  const addresses = isObject(facts['pages']) ? facts['pages'] : {};
  const named = pages.map((page) => {
    const { name = '' } = page;
    return [name, { body: decode(read.get(page)), url: textOf(addresses[name]) }] as const;
  });
  const [first] = named;
  const main =
    html.kind === 'page' && first !== undefined
      ? first[1]
      : { body: decode(read.get(html)), url: textOf(facts['url']) };
  return await scraper.extract({
    input: item.input,
    ...main,
    ...(named.length === 0 ? {} : { pages: new Map(named) }),
  });
}

/** Exactly as `parse` saw it the first time. */
function decode(page: Uint8Array | undefined): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(page);
}

/** The recorded bytes, or why they cannot be read. */
async function readStored(
  store: Pick<ResultStore, 'get'>,
  artifact: StoredArtifact,
): Promise<Uint8Array | ScrapeResult> {
  const { key, size, sha256 } = artifact;
  const what = ARTIFACTS[artifact.kind].name;
  if (size > MAX_PAGE_BYTES) return failed('too_large', `the stored ${what} ${key} has ${size} bytes`);
  let bytes: Uint8Array | null;
  try {
    bytes = await store.get(artifact);
  } catch (error) {
    if (error instanceof StorageTrouble) throw error;
    return failed('unexpected', `the stored ${what} ${key} cannot be read`, error);
  }
  if (bytes === null) return failed('not_found', `the stored ${what} ${key} is missing`);
  if (hash('sha256', bytes) === sha256) return bytes;
  return failed('unexpected', `the stored ${what} ${key} is damaged: its SHA-256 is not the one on record`);
}

function failed(type: FailureType, message: string, cause?: unknown): ScrapeResult {
  return { kind: 'failed', failure: failure(type, message, { cause }) };
}

/** Metadata of any kind of scraper: fields that are missing or have another form count as unknown. */
function objectOf(bytes: Uint8Array | undefined): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return isObject(value) ? { ...value } : {};
  } catch {
    return {};
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}
