import { z } from 'zod';
import { PAGE_SOURCES } from '../domain/page-source.ts';
import { count, flag, jobId, list, text, textOrNull, time } from './answer-fields.ts';
import { warningSchema } from './problem-answer.ts';

/** What the API says about the pages of one site. */

const siteId = text('The id of the site.');

export const siteContentSchema = z
  .object({
    site_id: siteId,
    path: text('Path of the page below the baseUrl of the site, with its query.'),
    url: text('Address of the page.'),
    title: textOrNull('Title of the page; null if it has none.'),
    markdown: text('The content.'),
    source: z
      .enum(PAGE_SOURCES)
      .meta({ description: 'How it was read: the site’s own Markdown, HTML, a browser, a copy button, or the cache.' }),
    fetched_at: time('When it was read, or the site last confirmed that it has not changed.'),
    not_modified: flag('Whether the site just said that the cached content is still right.'),
    flagged: flag('Whether the page has shrunk by 90 % or more. The version before that is kept in the cache, too.'),
  })
  .meta({ id: 'SiteContent', description: 'A page of a site as Markdown.' });

export const siteLinksSchema = z
  .object({
    site_id: siteId,
    count: count('How many links there are.'),
    complete: flag('False if something could not be read, or a limit was reached: then there may be more.'),
    fetched_at: time('When they were collected.'),
    links: list(z.string(), 'Addresses of pages, start pages first.'),
  })
  .meta({ id: 'SiteLinks', description: 'The links of a site.' });

export const linksPendingSchema = z
  .object({
    site_id: siteId,
    status: z.literal('in_progress').meta({ description: 'The links are still being collected.' }),
    job_id: jobId,
  })
  .meta({ id: 'PendingSiteLinks', description: 'Ask again: the links take longer than a request waits.' });

export const indexedSchema = z
  .object({
    job_id: jobId,
    status: z.literal('in_progress').meta({ description: 'Pages are pulled as soon as a worker is free.' }),
    site_id: siteId,
    seeded_count: count(
      'Items to begin with: start pages, sitemaps and llms.txt. What they lead to is added on the way.',
    ),
    warnings: list(warningSchema, 'What will keep the job waiting; absent if nothing does.').optional(),
  })
  .meta({ id: 'SiteIndexJob', description: 'A job that pulls a whole site.' });

export type SiteContentAnswer = z.infer<typeof siteContentSchema>;
export type SiteLinksAnswer = z.infer<typeof siteLinksSchema>;
export type LinksPendingAnswer = z.infer<typeof linksPendingSchema>;
export type IndexedAnswer = z.infer<typeof indexedSchema>;
