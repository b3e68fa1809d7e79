import { z } from 'zod';
import { DEFAULT_MAX_AGE_SECONDS } from '../domain/cached-page.ts';
import { siteIdSchema } from '../domain/site.ts';
import { parsePageUrl } from '../domain/site-url.ts';
import { bulkFieldsSchema, DEFAULT_DELAY_MS, delayText, maxAgeText } from './bulk-request.ts';
import { whole } from './query-fields.ts';

/** Requests about documentation sites, what is cached of them, and their failures. */

export const sitePath = z.strictObject({ site_id: siteIdSchema });

/** A site that was pulled without a configuration has an id of another form. */
const anySiteId = z.string().min(1).max(400).meta({ description: 'The id of the site.' });

export const anySitePath = z.strictObject({ site_id: anySiteId });

export const setSiteQuery = z.strictObject({
  version: z
    .string()
    .min(1)
    .max(100)
    .optional()
    .meta({
      description:
        'Replace the configuration only if it still has this version; `none` if there must be none yet. If omitted, the ' +
        'last request wins.',
    }),
});

export const discoverQuery = z.strictObject({
  url: z
    .string()
    .refine((url) => parsePageUrl(url) !== null, 'must be the address of a page')
    .meta({ description: 'A page of the site, such as its home page.' }),
  selector: z
    .string()
    .min(1)
    .max(2000)
    .optional()
    .meta({ description: 'A CSS selector: the answer says how many words the page has there.' }),
});

export const siteContentQuery = z.strictObject({
  path: z
    .string()
    .max(2000)
    .optional()
    .meta({ description: 'Path below the baseUrl of the site, or the whole address; by default the defaultPath.' }),
  max_age: maxAgeText.default(DEFAULT_MAX_AGE_SECONDS),
});

export const siteLinksQuery = z.strictObject({
  max_age: maxAgeText.default(DEFAULT_MAX_AGE_SECONDS),
  delay_ms: delayText.default(DEFAULT_DELAY_MS),
});

/** A single site is asked by fewer workers at a time than a list of many. */
const INDEX_CONTAINERS = 10;

export const indexBody = bulkFieldsSchema
  .omit({ unknown: true, max_containers: true })
  .extend({
    max_containers: z
      .int()
      .min(1)
      .max(10_000)
      .meta({ description: 'Batches of up to ten pages that may run at the same time.' })
      .default(INDEX_CONTAINERS),
  })
  .meta({ id: 'SiteIndexRequest', description: 'How to pull a whole site.' });

export type IndexFields = z.output<typeof indexBody>;

/** It contains a path. */
const cursor = z.string().min(1).max(8000).optional().meta({ description: '`next_cursor` of the previous page.' });

export const cacheKeysQuery = z.strictObject({
  site: anySiteId.optional().meta({ description: 'Only entries of this site.' }),
  limit: whole(1, 1000, 'Maximum number of entries per page.').default(100),
  cursor,
});

export const errorsQuery = z.strictObject({
  limit: whole(1, 1000, 'Maximum number of pages with failures per page.').default(100),
  cursor,
});
