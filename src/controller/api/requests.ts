import { z } from 'zod';
import { ARTIFACT_KINDS } from '../../domain/artifact.ts';
import { failureTypeSchema, itemStatusSchema, jobStatusSchema } from './answers.ts';

/** What the API takes in paths and queries. Bodies of jobs are those of `submitSchema` and `policySchema`. */

/** As long as the longest id that a job or an item can be made with. */
export const jobIdSchema = z.string().min(1).max(200);
export const itemIdSchema = z.string().min(1).max(1000);

export const jobPath = z.strictObject({ job_id: jobIdSchema });
export const itemPath = z.strictObject({ job_id: jobIdSchema, item_id: itemIdSchema });
export const scraperPath = z.strictObject({ scraper_id: z.string().min(1).max(200) });

const cursor = z.string().min(1).max(2000).optional().meta({ description: 'The next_cursor of an earlier page.' });

/** Whole numbers of a query come as texts. */
function whole(min: number, max: number) {
  return z.coerce.number().pipe(z.int().min(min).max(max));
}

export const jobsQuery = z.strictObject({
  limit: whole(1, 500).default(50),
  cursor,
  status: jobStatusSchema.optional(),
});

export const itemsQuery = z.strictObject({
  limit: whole(1, 1000).default(100),
  cursor,
  status: itemStatusSchema.optional(),
  error_type: failureTypeSchema.optional(),
});

export const failuresQuery = z.strictObject({ limit: whole(1, 200).default(50) });

export const resultFilter = z.enum(['all', 'success', 'errors']).default('all');

export const resultsQuery = z.strictObject({ filter: resultFilter, part: whole(0, 10_000_000).optional() });

export const exportQuery = z.strictObject({
  format: z.enum(['jsonl', 'csv', 'parquet']).default('jsonl'),
  filter: resultFilter,
});

export const downloadQuery = z.strictObject({ artifact: z.enum(ARTIFACT_KINDS) });

export const noQuery = z.strictObject({});

export const retryBody = z
  .strictObject({
    status: z.literal('failed').optional().meta({ description: 'Only failed items can be opened again.' }),
    error_type: failureTypeSchema.optional(),
    item_ids: z.array(itemIdSchema).min(1).max(10_000).optional(),
    preview: z.boolean().default(false),
  })
  .meta({ id: 'RetryRequest' });

export const extractBody = z
  .strictObject({
    job_id: jobIdSchema.optional(),
    job_name: z.string().max(500).optional(),
    scraper_id: z.string().min(1).max(200).optional().meta({ description: 'The job’s own, unless said otherwise.' }),
    max_concurrent_workers: z.int().min(1).max(10_000).default(64),
    labels: z.record(z.string().max(100), z.string().max(500)).default({}),
  })
  .meta({ id: 'ExtractRequest' });

/** As a document of its own it is parsed with the job's policy beneath, by `changePolicy`. */
export const policyBody = z
  .strictObject({ execution_policy: z.record(z.string(), z.unknown()) })
  .meta({ id: 'PolicyChange', description: 'Fields of the policy; those that are not named stay as they are.' });
