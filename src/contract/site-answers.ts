import { z } from 'zod';
import { PAGE_METHODS } from '../domain/cached-page.ts';
import { siteSchema } from '../domain/site.ts';
import { count, flag, list, nextCursor, text, textOrNull, time, timeOrNull } from './answer-fields.ts';

/** What the API says about documentation sites. */

export const siteAnswerSchema = z
  .object({
    site_id: text('The id of the site.'),
    config: siteSchema,
    source: z.enum(['file', 'api']).meta({
      description:
        'Where the configuration comes from: the file of sites, which is read at every start, or the API, which takes ' +
        'precedence over it.',
    }),
    changed_at: time('When it was last changed.'),
    version: text('Changes with every change of the configuration.'),
  })
  .meta({ id: 'Site', description: 'A documentation site.' });

export const sitesSchema = z.object({ sites: list(siteAnswerSchema, 'All sites, by id.') });

export const removedSiteSchema = z.object({
  site_id: text('The id of the site.'),
  removed: flag('Whether there was such a site.'),
  restored: flag('Whether the configuration in the file of sites applies again.'),
});

export const discoverySchema = z.object({
  url: text('Address of the page that was looked at, after redirects.'),
  title: textOrNull('Title of the page.'),
  content: z
    .object({
      in_html: flag('Whether the content is in the HTML, without running scripts.'),
      selector: textOrNull('Where the content is, as CSS; null if it is in no usual place.'),
      words: count('Words there, or in the whole page.'),
    })
    .meta({ description: 'The content of the page.' }),
  selector_words: z
    .int()
    .min(0)
    .nullable()
    .meta({
      description:
        'Words at the selector of the request, in the HTML. Null if the request has none, or one that only a browser ' +
        'understands.',
    }),
  markdown: z
    .object({
      suffix: flag('Whether the site has the page as Markdown at <url>.md.'),
      accept: flag('Whether the site sends Markdown to clients that accept it.'),
    })
    .meta({ description: 'Markdown that the site itself offers.' }),
  sitemaps: list(
    z.object({
      url: text('Address of the sitemap.'),
      kind: z.enum(['pages', 'index']).meta({ description: 'Whether it lists pages, or further sitemaps.' }),
      urls: count('How many it lists.'),
    }),
    'Sitemaps that robots.txt names, or /sitemap.xml.',
  ),
  llms_txt: z
    .object({ url: text('Its address.'), title: textOrNull('Its heading.'), urls: count('Pages that it links to.') })
    .nullable()
    .meta({ description: 'The llms.txt of the site; null if there is none.' }),
  site_id: text('An id for the site.'),
  config: siteSchema,
});

const siteStats = {
  pages: count('Pages that are cached.'),
  assets: count('Links to files that were not fetched.'),
  flagged: count('Pages that have shrunk by 90 % or more; the version before that is kept, too.'),
  bytes: count('Size of the contents, in bytes; contents that pages share count for each page.'),
};

export const cacheStatsSchema = z.object({
  ...siteStats,
  sites: list(
    z.object({
      site_id: text('The id of the site.'),
      ...siteStats,
      oldest_at: time('When the oldest entry was fetched.'),
      newest_at: time('When the newest entry was fetched.'),
    }),
    'Sites with cached pages, by id.',
  ),
});

const cacheEntrySchema = z
  .object({
    key: text('Site, path and, unless it is the content of a page, the method, separated by colons.'),
    site_id: text('The id of the site.'),
    path: text('Path below the baseUrl of the site, with its query.'),
    method: z.enum(PAGE_METHODS).meta({ description: 'How it was read.' }),
    type: z.enum(['page', 'asset', 'links']).meta({
      description: 'A page with its content, a link to a file, or the links that were found on a page or a whole site.',
    }),
    url: text('Address of the page.'),
    fetched_at: time('When it was fetched, or the site last confirmed that it has not changed.'),
    size: count('Size of the content, in bytes; 0 for an asset.'),
    title: textOrNull('Title of the page.'),
    etag: textOrNull('The ETag that the site sent.'),
    last_modified: textOrNull('The Last-Modified that the site sent.'),
    flagged: flag('Whether the page has shrunk by 90 % or more. The version before that is kept, too.'),
  })
  .meta({ id: 'CacheEntry', description: 'What is cached of a page.' });

export const cacheKeysSchema = z.object({
  entries: list(cacheEntrySchema, 'Entries, by site and path.'),
  next_cursor: nextCursor,
});

export const clearedSiteSchema = z.object({
  site_id: text('The id of the site.'),
  removed: count('Entries that were removed.'),
});

const pathErrorsSchema = z
  .object({
    site_id: text('The id of the site.'),
    path: text('Path below the baseUrl of the site, with its query.'),
    count: count('Failures since the last success.'),
    last_error: text('The last failure.'),
    failed_at: time('When it failed last.'),
    skipped_until: timeOrNull('Until when jobs skip the page; null if they do not.'),
  })
  .meta({ id: 'PathErrors', description: 'A page that failed.' });

export const errorsSchema = z.object({
  errors: list(pathErrorsSchema, 'Pages that failed, by site and path.'),
  next_cursor: nextCursor,
});

export const clearedErrorsSchema = z.object({ removed: count('Pages whose failures were forgotten.') });

export type DiscoveryAnswer = z.infer<typeof discoverySchema>;
export type SiteAnswer = z.infer<typeof siteAnswerSchema>;
export type SitesAnswer = z.infer<typeof sitesSchema>;
export type RemovedSiteAnswer = z.infer<typeof removedSiteSchema>;
export type CacheStatsAnswer = z.infer<typeof cacheStatsSchema>;
export type CacheEntryAnswer = z.infer<typeof cacheEntrySchema>;
export type CacheKeysAnswer = z.infer<typeof cacheKeysSchema>;
export type ClearedSiteAnswer = z.infer<typeof clearedSiteSchema>;
export type ErrorsAnswer = z.infer<typeof errorsSchema>;
export type PathErrorsAnswer = z.infer<typeof pathErrorsSchema>;
export type ClearedErrorsAnswer = z.infer<typeof clearedErrorsSchema>;
