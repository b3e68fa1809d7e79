import { z } from 'zod';
import { ARTIFACT_KINDS } from '../domain/artifact.ts';
import { parseHost } from '../domain/host-pause.ts';
import { policySchema } from '../domain/policy.ts';
import { failureTypeSchema, itemStatusSchema, jobStatusSchema } from './answers.ts';
import { itemIdSchema, jobIdSchema, jobNameSchema, labelsSchema, scraperIdSchema } from './job-fields.ts';

/** What the API takes in paths, queries and bodies. The body of a new job is `submitSchema`. */

/** As long as the longest id that a job or an item can be made with; what cannot be kept is not found. */
const jobId = z.string().min(1).max(200).meta({ description: 'The id of a job.' });
const itemId = z.string().min(1).max(1000).meta({ description: 'The id of an item of the job.' });

export const jobPath = z.strictObject({ job_id: jobId });
export const itemPath = z.strictObject({ job_id: jobId, item_id: itemId });
export const scraperPath = z.strictObject({
  scraper_id: scraperIdSchema.meta({ description: 'The id of a scraper.' }),
});

export const hostPath = z.strictObject({
  host: z
    .string()
    .min(1)
    .max(300)
    .refine((text) => parseHost(text) !== null, 'must be a host like county.gov or county.gov:8080')
    .meta({ description: 'A host as in an address: with its port, unless that is the usual one.' }),
});

const cursor = z.string().min(1).max(2000).optional().meta({ description: 'The next_cursor of an earlier page.' });

/** Whole numbers of a query come as texts: decimal digits, and nothing else that JavaScript would take for a number. */
function whole(min: number, max: number, description: string) {
  return z
    .string()
    .regex(/^\d{1,10}$/, 'must be a whole number')
    .transform(Number)
    .pipe(z.int().min(min).max(max))
    .meta({ description });
}

export const jobsQuery = z.strictObject({
  limit: whole(1, 500, 'Jobs of a page, at the most.').default(50),
  cursor,
  status: jobStatusSchema.optional().meta({ description: 'Only jobs that stand so.' }),
});

export const itemsQuery = z.strictObject({
  limit: whole(1, 1000, 'Items of a page, at the most.').default(100),
  cursor,
  status: itemStatusSchema.optional().meta({ description: 'Only items that stand so.' }),
  error_type: failureTypeSchema.optional().meta({ description: 'Only items that failed in this way.' }),
});

export const failuresQuery = z.strictObject({ limit: whole(1, 200, 'Groups, at the most.').default(50) });

export const resultFilter = z
  .enum(['all', 'success', 'errors', 'error'])
  .default('all')
  .transform((filter) => (filter === 'error' ? 'errors' : filter))
  .meta({ description: 'Which items: all, those that succeeded, or those that failed. `error` means `errors`.' });

export const resultsQuery = z.strictObject({
  filter: resultFilter,
  part: whole(0, 10_000_000, 'One part of the index; the first is 0. Without it: what parts there are.').optional(),
});

export const exportQuery = z.strictObject({
  format: z.enum(['jsonl', 'csv', 'parquet']).meta({ description: 'What the rows come as.' }).default('jsonl'),
  filter: resultFilter,
});

export const downloadQuery = z.strictObject({
  artifact: z.enum(ARTIFACT_KINDS).meta({ description: 'Which of the things that were kept of the item.' }),
  redirect: z
    .stringbool({ truthy: ['true'], falsy: ['false'], case: 'sensitive' })
    .meta({ description: 'Rather be sent to where the bytes lie, if they can be fetched there.' })
    .default(false),
});

export const noQuery = z.strictObject({});

/** Of an operation that needs to be told nothing. */
export const emptyBody = z.strictObject({});

export const retryBody = z
  .strictObject({
    status: z.literal('failed').optional().meta({ description: 'Only failed items can be opened again.' }),
    error_type: failureTypeSchema.optional().meta({ description: 'Only those that failed in this way.' }),
    item_ids: z.array(itemIdSchema).min(1).max(10_000).optional().meta({ description: 'Only these, if they failed.' }),
    preview: z.boolean().meta({ description: 'Only count them.' }).default(false),
  })
  .meta({ id: 'RetryRequest', description: 'Which failed items to open again. What is not named is no condition.' });

export const extractBody = z
  .strictObject({
    job_id: jobIdSchema.optional().meta({ description: 'Of the new job. Without one it is made up.' }),
    job_name: jobNameSchema.optional().meta({ description: 'What people call the new job.' }),
    scraper_id: scraperIdSchema.optional().meta({ description: 'The job’s own, unless said otherwise.' }),
    max_concurrent_workers: z
      .int()
      .min(1)
      .max(10_000)
      .meta({ description: 'Pages that may be read at a time. No site is asked for anything.' })
      .default(64),
    labels: labelsSchema.meta({ description: 'Words of your own, by name.' }).default({}),
  })
  .meta({ id: 'ExtractRequest', description: 'How to read the pages of a job again.' });

/** It knows every field of a policy, and fills in none: `changePolicy` lays it over the job's own, and is the judge. */
export const policyBody = z
  .strictObject({
    execution_policy: anyOf(policySchema).meta({ description: 'Fields that are not named stay as they are.' }),
  })
  .meta({ id: 'PolicyChange', description: 'Fields of the policy of a job that are to become others.' });

/** Any of an object's fields, and of its sections' fields, without defaults. */
function anyOf(schema: z.ZodObject): z.ZodType<Record<string, unknown>> {
  const fields = Object.entries(schema.shape).map(([name, field]): [string, z.ZodType] => {
    const given = withoutDefault(field as z.ZodType);
    const description = given.description ?? '';
    return [name, (given instanceof z.ZodObject ? anyOf(given).meta({ description }) : given).optional()];
  });
  return z.strictObject(Object.fromEntries(fields));
}

function withoutDefault(field: z.ZodType): z.ZodType {
  return field instanceof z.ZodDefault || field instanceof z.ZodPrefault ? (field.unwrap() as z.ZodType) : field;
}
