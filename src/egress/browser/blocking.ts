/** Kinds of sub-resources that a page can do without. */
export type Blocked = 'images' | 'media' | 'fonts' | 'trackers';

/** What address patterns are grouped by: what is told by its extension, and what by its host. */
export type PatternGroup = 'files' | 'trackers';

export const PATTERN_GROUPS: readonly PatternGroup[] = ['files', 'trackers'];

/**
 * Two filters, one after the other, which both leave the HTTP cache on; Playwright's own `route` does not. Address
 * patterns are matched where the request would begin, and cost nothing per request, but 4 ms per page: the browser
 * compiles each of them. So a page gets those that its job is known to need (`BlockedByJob`). What they let through is
 * stopped by its type or by the proxy, which costs a round trip for each.
 */
export interface Blocking {
  /** For `Network.setBlockedURLs`. */
  readonly urlPatterns: Readonly<Record<PatternGroup, readonly UrlPattern[]>>;
  /** Whether a pattern of `files` is about this address. */
  isFile(url: string): boolean;
  /** Resource types of CDP. */
  readonly types: ReadonlySet<string>;
  /**
   * Why a host must not be contacted; null if it may. For requests of workers and frames, which patterns do not reach.
   */
  refusesHost(hostname: string): string | null;
}

interface UrlPattern {
  readonly urlPattern: string;
  readonly block: true;
}

const EXTENSIONS: Readonly<Record<Exclude<Blocked, 'trackers'>, readonly string[]>> = {
  images: ['png', 'jpg', 'jpeg', 'gif', 'webp', 'avif', 'svg', 'ico', 'bmp', 'apng', 'jxl'],
  media: ['mp4', 'webm', 'm4v', 'mov', 'mp3', 'm4a', 'aac', 'ogg', 'ogv', 'oga', 'wav', 'flac', 'm3u8', 'mpd'],
  fonts: ['woff', 'woff2', 'ttf', 'otf', 'eot'],
};

const TYPES: Readonly<Record<Exclude<Blocked, 'trackers'>, string>> = {
  images: 'Image',
  media: 'Media',
  fonts: 'Font',
};

/**
 * Hosts that only track visitors: none of them serves anything that a page shows. The list contains the most common
 * ones (by EasyPrivacy and Disconnect), not all of them.
 */
const TRACKERS: readonly string[] = [
  ...[
    'google-analytics.com',
    'analytics.google.com',
    'googletagmanager.com',
    'doubleclick.net',
    'googlesyndication.com',
  ],
  ...['googleadservices.com', 'connect.facebook.net', 'analytics.tiktok.com', 'bat.bing.com', 'clarity.ms'],
  ...['hotjar.com', 'hotjar.io', 'mouseflow.com', 'crazyegg.com', 'fullstory.com', 'luckyorange.com', 'inspectlet.com'],
  ...['segment.io', 'cdn.segment.com', 'mixpanel.com', 'amplitude.com', 'heapanalytics.com', 'scorecardresearch.com'],
  ...['quantserve.com', 'quantcount.com', 'chartbeat.com', 'chartbeat.net', 'newrelic.com', 'nr-data.net'],
  ...['siteimproveanalytics.com', 'siteimproveanalytics.io', 'dap.digitalgov.gov', 'statcounter.com', 'matomo.cloud'],
  ...['adsrvr.org', 'adnxs.com', 'criteo.com', 'criteo.net', 'taboola.com', 'outbrain.com', 'demdex.net', 'omtrdc.net'],
  ...['browser.sentry-cdn.com', 'cloudflareinsights.com', 'plausible.io', 'px.ads.linkedin.com', 'snap.licdn.com'],
];

export function blockingOf(blocked: readonly Blocked[]): Blocking {
  const kinds = blocked.filter((kind) => kind !== 'trackers');
  const trackers = blocked.includes('trackers') ? TRACKERS : [];
  const block = (urlPattern: string): UrlPattern => ({ urlPattern, block: true });
  const extensions = kinds.flatMap((kind) => EXTENSIONS[kind]);
  const files = new Set(extensions);
  return {
    urlPatterns: {
      files: extensions.map((extension) => block(`*://*:*/*.${extension}`)),
      trackers: trackers.map((host) => block(`*://{*.}?${host}:*/*`)),
    },
    isFile: (url) => files.has(/\.(\w+)$/.exec(URL.parse(url)?.pathname ?? '')?.[1] ?? ''),
    types: new Set(kinds.map((kind) => TYPES[kind])),
    refusesHost(hostname) {
      const host = hostname.toLowerCase().replace(/\.$/, '');
      const tracker = trackers.find((name) => host === name || host.endsWith(`.${name}`));
      return tracker === undefined ? null : `${hostname} only tracks visitors (browser.block includes trackers)`;
    },
  };
}
