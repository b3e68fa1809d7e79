import type { Digest } from '../../../domain/artifact.ts';
import { BloomFilter } from '../../../domain/bloom-filter.ts';
import type { NewItem } from '../../../domain/item.ts';
import { batchOfPage, type SiteBatches } from '../../../domain/site-batches.ts';
import { pageItemId } from '../../../domain/site-links.ts';
import type { UrlSpool } from './url-spool.ts';

/** A page of a list. */
export interface ListedPage {
  readonly site: string;
  readonly path: string;
  readonly url: string;
}

export interface ItemMaking {
  /** The page that a URL of the list names; null if it is not one. */
  readonly pageOf: (url: string) => ListedPage | null;
  /** Input that all items have in addition to their page. */
  readonly settings: Readonly<Record<string, unknown>>;
  readonly digest: Digest;
}

/** Pages of several sites are collected in one pass, up to this many. */
const GATHERED_PAGES = 50_000;
const ITEMS_PER_CHUNK = 1000;

/**
 * The items of a list, site by site, each in the group of its batch. A batch is a run of neighbours, but a list names
 * its sites in any order: so it is read once for every few sites that fit into memory, or for a single large one.
 */
export async function* bulkItems(
  spool: Pick<UrlSpool, 'read'>,
  sites: readonly SiteBatches[],
  making: ItemMaking,
  gathered = GATHERED_PAGES,
): AsyncGenerator<readonly NewItem[]> {
  for (const window of windowsOf(sites, gathered)) {
    const [only] = window;
    if (only !== undefined && window.length === 1) yield* itemsOfOne(spool, only, making);
    else yield* itemsOfSeveral(spool, window, making);
  }
}

function windowsOf(sites: readonly SiteBatches[], most: number): readonly (readonly SiteBatches[])[] {
  const windows: SiteBatches[][] = [];
  let room = 0;
  for (const site of sites) {
    const last = windows.at(-1);
    if (last === undefined || site.pages > room) {
      windows.push([site]);
      room = most - site.pages;
    } else {
      last.push(site);
      room -= site.pages;
    }
  }
  return windows;
}

async function* itemsOfOne(
  spool: Pick<UrlSpool, 'read'>,
  site: SiteBatches,
  making: ItemMaking,
): AsyncGenerator<readonly NewItem[]> {
  const maker = new SiteItems(site, making);
  let chunk: NewItem[] = [];
  for await (const urls of spool.read()) {
    for (const url of urls) {
      const page = making.pageOf(url);
      if (page?.site === site.site) chunk.push(maker.make(page));
    }
    if (chunk.length >= ITEMS_PER_CHUNK) {
      yield chunk;
      chunk = [];
    }
  }
  if (chunk.length > 0) yield chunk;
}

async function* itemsOfSeveral(
  spool: Pick<UrlSpool, 'read'>,
  window: readonly SiteBatches[],
  making: ItemMaking,
): AsyncGenerator<readonly NewItem[]> {
  const pages = new Map<string, ListedPage[]>(window.map(({ site }) => [site, []]));
  for await (const urls of spool.read()) {
    for (const url of urls) {
      const page = making.pageOf(url);
      if (page !== null) pages.get(page.site)?.push(page);
    }
  }
  let chunk: NewItem[] = [];
  for (const site of window) {
    const maker = new SiteItems(site, making);
    for (const page of pages.get(site.site) ?? []) {
      chunk.push(maker.make(page));
      if (chunk.length < ITEMS_PER_CHUNK) continue;
      yield chunk;
      chunk = [];
    }
  }
  if (chunk.length > 0) yield chunk;
}

/** Makes the items of one site, in order. */
class SiteItems {
  readonly #site: SiteBatches;
  readonly #making: ItemMaking;
  readonly #seen: SeenUrls;
  #made = 0;

  constructor(site: SiteBatches, making: ItemMaking) {
    this.#site = site;
    this.#making = making;
    this.#seen = new SeenUrls(site.pages);
  }

  make({ site, path, url }: ListedPage): NewItem {
    const batch = batchOfPage(this.#site, this.#made);
    this.#made += 1;
    const id = pageItemId(url, this.#making.digest);
    // A URL that is listed twice becomes two items, which need two ids.
    const itemId = this.#seen.add(id) ? `${id} (${this.#made})` : id;
    return { itemId, input: { url, site, path, ...this.#making.settings }, group: `${site}/${batch}` };
  }
}

/**
 * Which URLs occurred before. For a large site this is probabilistic: one in a thousand then gets a number that it does
 * not need.
 */
class SeenUrls {
  readonly #exact: Set<string> | null;
  readonly #filter: BloomFilter | null;

  constructor(pages: number) {
    const isSmall = pages <= GATHERED_PAGES;
    this.#exact = isSmall ? new Set() : null;
    this.#filter = isSmall ? null : new BloomFilter({ bits: pages * 16, probes: 6 });
  }

  /** Whether it may have been added before. */
  add(url: string): boolean {
    if (this.#exact !== null) {
      const before = this.#exact.size;
      return this.#exact.add(url).size === before;
    }
    const hash = hashOf(url);
    const isKnown = this.#filter?.mayHave(hash) === true;
    this.#filter?.add(hash);
    return isKnown;
  }
}

/** FNV-1a. */
function hashOf(text: string): number {
  let value = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) value = Math.imul(value ^ text.charCodeAt(at), 0x01000193);
  return value >>> 0;
}
