import { z } from 'zod';

/** Rows of the table in settings.ts: where browsers come from. */
export const BROWSER_SETTINGS = {
  chromium: {
    ...{ variable: 'TRAWL_CHROMIUM', schema: z.string(), fallback: '', byDefault: 'the first that works' },
    about:
      'path of the Chromium for browser scrapers, and of no other. `trawl browser install` finds one or installs it ([sessions](sessions.md#chromium))',
  },
  cacheDir: {
    ...{ variable: 'TRAWL_CACHE_DIR', schema: z.string().min(1), byDefault: '`~/.cache/trawl`' },
    fallback: ({ userCache }: { readonly userCache: string }) => `${userCache}/trawl`,
    about: 'where it is remembered which Chromium works, and where one may be unpacked',
  },
} as const;
