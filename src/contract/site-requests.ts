import { z } from 'zod';
import { siteIdSchema } from '../domain/site.ts';
import { parsePageUrl } from '../domain/site-url.ts';
import { whole } from './requests.ts';

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
