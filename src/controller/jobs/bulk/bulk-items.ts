import type { Digest } from '../../../domain/artifact.ts';
import { MAX_BATCH_ITEMS } from '../../../domain/batching.ts';
import { BloomFilter } from '../../../domain/bloom-filter.ts';
import type { NewItem } from '../../../domain/item.ts';
import {
  type BatchPiece,
  GATHERED_PAGES,
  pieceOrder,
  type SiteBatches,
  windowsOf,
} from '../../../domain/site-batches.ts';
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

const ITEMS_PER_CHUNK = 1000;

/**
 * The items of a list, each in the group of its batch, in the order of `pieceOrder`. A piece of a batch is a run of
 * neighbours, and a list names its sites in any order: so it is gone through once for every few sites that fit into memory,
 * or for a single large one.
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

async function* itemsOfOne(
  spool: Pick<UrlSpool, 'read'>,
  site: SiteBatches,
  making: ItemMaking,
): AsyncGenerator<readonly NewItem[]> {
  const maker = new SiteItems(site, making);
  const order = pieceOrder([site], MAX_BATCH_ITEMS);
  let batch = 0;
  let left = 0;
  let chunk: NewItem[] = [];
  for await (const urls of spool.read()) {
    for (const url of urls) {
      const page = making.pageOf(url);
      if (page?.site !== site.site) continue;
      if (left === 0) ({ batch, pages: left } = nextPiece(order));
      chunk.push(maker.make(page, batch));
      left -= 1;
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
  const makers = new Map(window.map((site) => [site.site, new SiteItems(site, making)]));
  const taken = new Map<string, number>();
  let chunk: NewItem[] = [];
  for (const { site, batch, pages: count } of pieceOrder(window, MAX_BATCH_ITEMS)) {
    const from = taken.get(site.site) ?? 0;
    taken.set(site.site, from + count);
    const maker = makers.get(site.site);
    for (const page of pages.get(site.site)?.slice(from, from + count) ?? []) {
      if (maker !== undefined) chunk.push(maker.make(page, batch));
    }
    if (chunk.length < ITEMS_PER_CHUNK) continue;
    yield chunk;
    chunk = [];
  }
  if (chunk.length > 0) yield chunk;
}

function nextPiece(order: Generator<BatchPiece>): BatchPiece {
  const { value, done } = order.next();
  if (done) throw new Error('a site has more pages than were counted');
  return value;
}

/** Makes the items of one site, in order. */
class SiteItems {
  readonly #making: ItemMaking;
  readonly #seen: SeenUrls;
  #made = 0;

  constructor({ pages }: SiteBatches, making: ItemMaking) {
    this.#making = making;
    this.#seen = new SeenUrls(pages);
  }

  make({ site, path, url }: ListedPage, batch: number): NewItem {
    this.#made += 1;
    const id = pageItemId(url, this.#making.digest);
    // A URL that is listed twice becomes two items, which need two ids.
    const itemId = this.#seen.add(id) ? `${id} (${this.#made})` : id;
    return { itemId, input: { url, site, path, batch, ...this.#making.settings }, group: `${site}/${batch}` };
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
