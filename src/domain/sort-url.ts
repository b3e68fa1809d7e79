import { isAssetUrl } from './asset-url.ts';

/** Where a URL belongs: the site and the path below its base URL. */
export interface SitePlace {
  readonly site: string;
  readonly path: string;
}

/** What to do with a URL of a list. */
type SortedUrl =
  | ({ readonly kind: 'page'; readonly url: string } & SitePlace)
  /** Kept as a link, not fetched. */
  | ({ readonly kind: 'asset'; readonly url: string } & SitePlace)
  | { readonly kind: 'unknown'; readonly url: string };

/**
 * A URL that belongs to no site is unknown, even if it looks like an asset: there is no site to keep the link under.
 */
function sortUrl(url: string, placeOf: (url: string) => SitePlace | null): SortedUrl {
  const place = placeOf(url);
  if (place === null) return { kind: 'unknown', url };
  return { kind: isAssetUrl(url) ? 'asset' : 'page', url, ...place };
}

/** A whole list, sorted. Sites are in the order in which their first page occurs; repeated URLs are kept. */
export interface GroupedUrls {
  readonly bySite: ReadonlyMap<string, readonly string[]>;
  readonly assets: readonly ({ readonly url: string } & SitePlace)[];
  readonly unknown: readonly string[];
}

export function groupUrls(urls: Iterable<string>, placeOf: (url: string) => SitePlace | null): GroupedUrls {
  const bySite = new Map<string, string[]>();
  const assets: ({ readonly url: string } & SitePlace)[] = [];
  const unknown: string[] = [];
  for (const url of urls) {
    const sorted = sortUrl(url, placeOf);
    if (sorted.kind === 'unknown') unknown.push(url);
    else if (sorted.kind === 'asset') assets.push({ url, site: sorted.site, path: sorted.path });
    else {
      const paths = bySite.get(sorted.site);
      if (paths === undefined) bySite.set(sorted.site, [sorted.path]);
      else paths.push(sorted.path);
    }
  }
  return { bySite, assets, unknown };
}
