import { z } from 'zod';

/** Rows of the table in settings.ts: where browsers come from. */
const text = z.string();
const none = { schema: text, fallback: '' } as const;
const secret = { ...none, isSecret: true } as const;

export const BROWSER_SETTINGS = {
  browserProvider: {
    variable: 'TRAWL_BROWSER_PROVIDER',
    fallback: 'local',
    schema: z.enum(['local', 'cdp', 'browserbase'], 'must be local, cdp or browserbase'),
    about:
      'where the browsers of browser scrapers come from: `local` means Chromium on this machine, `cdp` the endpoint of `TRAWL_CDP_URL`, `browserbase` its service ([sessions](sessions.md))',
  },
  browserSessions: {
    ...{ variable: 'TRAWL_BROWSER_SESSIONS', fallback: 0 },
    schema: z.coerce.number().int().min(0).max(256),
    about:
      'browsers that a worker process of the lane `browser` keeps open at the same time. 0 means one, or with `browserbase` one for each slot',
  },
  browserItems: {
    ...{ variable: 'TRAWL_BROWSER_ITEMS', fallback: 500 },
    schema: z.coerce.number().int().min(1),
    about: 'items after which a browser is replaced: browsers grow with every page',
  },
  browserMemoryMb: {
    ...{ variable: 'TRAWL_BROWSER_MEMORY_MB', fallback: 1500 },
    schema: z.coerce.number().int().min(100),
    about: 'memory in MB at which a local browser is replaced, all of its processes together',
  },
  browserIdleMs: {
    ...{ variable: 'TRAWL_BROWSER_IDLE_MS', fallback: 60_000 },
    schema: z.coerce.number().int().min(0),
    about: 'a browser without items is closed after this',
  },
  browserHeaded: {
    ...{ variable: 'TRAWL_BROWSER_HEADED', fallback: false, schema: z.stringbool() },
    about:
      'whether browsers of this machine show their windows, as with `trawl run --headed`. It needs a Chromium with windows and a display',
  },
  browserSlowMs: {
    ...{ variable: 'TRAWL_BROWSER_SLOW_MS', fallback: 0 },
    schema: z.coerce.number().int().min(0).max(60_000),
    about: 'pause before each step of a browser, in milliseconds, as with `trawl run --slow`: for watching',
  },
  cdpUrl: {
    ...{ ...secret, variable: 'TRAWL_CDP_URL' },
    about:
      'with `cdp`: where to connect, `ws://host:9222/…`, `http://host:9222`, or `wss://user:password@brd.superproxy.io:9222`',
  },
  browserbaseApiKey: {
    ...{ ...secret, variable: 'BROWSERBASE_API_KEY' },
    about: 'with `browserbase`: the key of its API',
  },
  browserbaseProjectId: {
    ...{ ...none, variable: 'BROWSERBASE_PROJECT_ID', byDefault: 'that of the key' },
    about: 'with `browserbase`: the project',
  },
  browserbaseBaseUrl: {
    ...{ variable: 'BROWSERBASE_BASE_URL', fallback: 'https://api.browserbase.com' },
    schema: z.url({ protocol: /^https?$/, error: 'must be an address like https://api.browserbase.com' }),
    about: 'with `browserbase`: where its API is',
  },
  chromium: {
    ...{ ...none, variable: 'TRAWL_CHROMIUM', byDefault: 'the first that works' },
    about:
      'path of the Chromium for browser scrapers, and of no other. `trawl browser install` finds one or installs it ([sessions](sessions.md#chromium))',
  },
  cacheDir: {
    ...{ variable: 'TRAWL_CACHE_DIR', schema: z.string().min(1), byDefault: '`~/.cache/trawl`' },
    fallback: ({ userCache }: { readonly userCache: string }) => `${userCache}/trawl`,
    about: 'where it is remembered which Chromium works, and where one may be unpacked',
  },
} as const;

/** Two to four pages at a time are the optimum on two cores: half of what a page does is waiting. */
const PAGES_PER_CORE = 2;
/** The memory of a heavy page. Half of the memory is reserved for everything else. */
const BYTES_PER_PAGE = 300e6;

/** Pages that one worker process has open at the same time. */
export function browserSlots(cores: number, memoryBytes: number): number {
  return Math.max(1, Math.min(PAGES_PER_CORE * cores, Math.floor(memoryBytes / 2 / BYTES_PER_PAGE)));
}

export interface BrowserSecrets {
  readonly cdpUrl: string;
  readonly browserbaseApiKey: string;
}

/** Values that must not appear in any text, by name. */
export function browserSecrets({ cdpUrl, browserbaseApiKey }: Partial<BrowserSecrets>): ReadonlyMap<string, string> {
  const url = URL.parse(cdpUrl ?? '');
  const values: [string, string | undefined][] = [
    ['cdp_url', url === null ? cdpUrl : decodeURIComponent(url.password)],
    ['browserbase_api_key', browserbaseApiKey],
  ];
  return new Map(values.filter((each): each is [string, string] => (each[1] ?? '') !== ''));
}
