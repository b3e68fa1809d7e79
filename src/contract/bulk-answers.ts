import { z } from 'zod';
import { count, jobId, list, text } from './answer-fields.ts';
import { failureGroupSchema } from './failure-answers.ts';
import { type JobAnswer, jobSchema } from './job-answers.ts';
import { warningSchema } from './problem-answer.ts';

/** What the API says about bulk jobs. */
const bulkInputSchema = z
  .object({
    total_urls: count('URLs in the list, including repeated ones.'),
    to_scrape: count('URLs of pages.'),
    assets: count('URLs of files, which are kept as links.'),
    unknown: count('URLs that belong to no configured site.'),
    sites: list(z.string(), 'Ids of the sites that have pages, in the order of the list.'),
  })
  .meta({ id: 'BulkInput', description: 'What the URLs of the list are.' });

const warnings = list(warningSchema, 'What will keep the job waiting; absent if nothing does.').optional();

export const bulkCreatedSchema = z
  .object({
    job_id: jobId,
    status: z.literal('in_progress').meta({ description: 'Pages are pulled as soon as a worker is free.' }),
    batches: count('Batches into which the pages were cut; each has pages of one site.'),
    input: bulkInputSchema,
    warnings,
  })
  .meta({ id: 'CreatedBulkJob', description: 'A bulk job that was created.' });

export const nothingToScrapeSchema = z
  .object({
    job_id: jobId,
    status: z.literal('completed').meta({ description: 'There is nothing to wait for.' }),
    message: z.literal('No scrapeable URLs').meta({ description: 'Why the job is over already.' }),
    input: bulkInputSchema,
  })
  .meta({ id: 'EmptyBulkJob', description: 'A bulk job without pages.' });

export const bulkJobSchema = jobSchema
  .extend({
    input: bulkInputSchema,
    progress: z
      .object({
        completed: count('Pages that are final, whatever their outcome.'),
        success: count('Pulled.'),
        skipped: count('Taken from the cache, or left out because they failed too often or the site disallows them.'),
        failed: count('Failed.'),
      })
      .meta({ description: 'Final pages by outcome.' }),
    workers: z
      .object({ total: count('Batches.'), completed: count('Batches that are over.') })
      .meta({ description: 'Batches of the job.' }),
    errors: z
      .array(
        z.object({ path: text('Path of the page below the base URL of its site.'), error: text('Why it failed.') }),
      )
      .max(10)
      .meta({ description: 'Examples of pages that failed.' }),
    failures: z.array(failureGroupSchema).max(10).meta({ description: 'The most frequent failures.' }),
  })
  .meta({ id: 'BulkJob', description: 'A bulk job: its progress, its failures and its policy.' });

export type BulkInputAnswer = z.infer<typeof bulkInputSchema>;
export type BulkCreatedAnswer = z.infer<typeof bulkCreatedSchema>;
export type NothingToScrapeAnswer = z.infer<typeof nothingToScrapeSchema>;
export type BulkJobAnswer = z.infer<typeof bulkJobSchema>;

/** Whatever job it is. */
export type AnyJobAnswer = JobAnswer | BulkJobAnswer;
