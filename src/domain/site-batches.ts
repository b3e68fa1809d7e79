/** How many pages of a site a list has. */
export interface SitePages {
  readonly site: string;
  readonly pages: number;
}

/** The number of batches that a site's pages are divided into; `batchSizes` gives their sizes. */
export interface SiteBatches extends SitePages {
  readonly batches: number;
}

/**
 * Divides the pages of each site into batches, in proportion to the number of its pages: largest remainder, ties by
 * order, at least one batch per site and never more than it has pages. The total does not exceed `maxBatches` unless
 * there are more sites than that; then each site has one. Sites without pages are left out.
 */
export function calculateBatches(sites: readonly SitePages[], maxBatches: number): readonly SiteBatches[] {
  const filled = sites.filter(({ pages }) => pages > 0);
  if (filled.length >= maxBatches) return filled.map((site) => ({ ...site, batches: 1 }));
  const total = sum(filled);
  if (total <= maxBatches) return filled.map((site) => ({ ...site, batches: site.pages }));

  // A site whose share is less than one batch gets a whole one, and the others share what is left.
  let sharing = filled;
  let left = maxBatches;
  for (;;) {
    const pages = sum(sharing);
    const large = sharing.filter((site) => site.pages * left >= pages);
    if (large.length === sharing.length) break;
    left -= sharing.length - large.length;
    sharing = large;
  }
  const shares = shareOut(sharing, left);
  return filled.map((site) => ({ ...site, batches: shares.get(site) ?? 1 }));
}

/** Largest remainder, in whole numbers: fractions such as 1/3 would break ties by their rounding. */
function shareOut(sites: readonly SitePages[], batches: number): ReadonlyMap<SitePages, number> {
  const total = sum(sites);
  const shares = sites.map((site) => ({
    site,
    whole: Math.floor((site.pages * batches) / total),
    remainder: (site.pages * batches) % total,
  }));
  const rest = batches - shares.reduce((given, { whole }) => given + whole, 0);
  // The sort is stable, so the first of equal remainders stays first.
  const favoured = new Set(shares.toSorted((one, other) => other.remainder - one.remainder).slice(0, rest));
  return new Map(shares.map((share) => [share.site, share.whole + (favoured.has(share) ? 1 : 0)]));
}

function sum(sites: readonly SitePages[]): number {
  return sites.reduce((total, { pages }) => total + pages, 0);
}

/** The sizes of a site's batches, in order: they differ by at most one, larger ones first. */
export function batchSizes({ pages, batches }: Pick<SiteBatches, 'pages' | 'batches'>): readonly number[] {
  const size = Math.floor(pages / batches);
  const larger = pages % batches;
  return Array.from({ length: batches }, (_, index) => (index < larger ? size + 1 : size));
}

/** Pages of one batch that go out together, under one lease. */
export interface BatchPiece {
  readonly site: SiteBatches;
  /** Of its site, counted from 0. */
  readonly batch: number;
  readonly pages: number;
  /** Whether the batch has no more of them. */
  readonly isLast: boolean;
}

/** Sites whose pages are put in order together, so that they fit into memory; a larger one is by itself. */
export const GATHERED_PAGES = 50_000;

/** Consecutive sites with no more pages than that together. */
export function windowsOf(sites: readonly SiteBatches[], most = GATHERED_PAGES): readonly (readonly SiteBatches[])[] {
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

/**
 * The order in which the pages of some sites go out. A lease has no more than `maxPages` pages, so a longer batch goes out in
 * pieces: first the first piece of every batch, then the second ones. Pieces of one batch in a row would be in flight
 * together, wait for each other's turns, and keep other batches from beginning.
 */
export function* pieceOrder(sites: readonly SiteBatches[], maxPages: number): Generator<BatchPiece> {
  const cut = sites.map((site) => ({ site, sizes: batchSizes(site) }));
  for (let wave = 0; ; wave += 1) {
    let isOver = true;
    for (const { site, sizes } of cut) {
      // The first is the largest.
      if (Math.ceil((sizes[0] ?? 0) / maxPages) <= wave) continue;
      for (const [batch, size] of sizes.entries()) {
        const pieces = Math.ceil(size / maxPages);
        if (wave >= pieces) continue;
        isOver = false;
        const pages = Math.floor(size / pieces) + (wave < size % pieces ? 1 : 0);
        yield { site, batch, pages, isLast: wave === pieces - 1 };
      }
    }
    if (isOver) return;
  }
}
