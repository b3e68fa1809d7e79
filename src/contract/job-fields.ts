import { z } from 'zod';
import { MAX_BATCH_ITEMS } from '../domain/batching.ts';
import { MAX_GROUP_LENGTH, MAX_ITEM_ID_LENGTH } from '../domain/item.ts';
import { textProblem } from '../domain/storable-input.ts';

/** Paths of the API under /jobs, now or soon: a job with such an id could not be reached, or would hide the path. */
const RESERVED_JOB_IDS: ReadonlySet<string> = new Set(['bulk', 'plan']);

/** Ids, names and labels in every request: only text that can be stored and returned unchanged. */
export const jobIdSchema = storable(z.string().min(1).max(200))
  .refine((id) => id !== '.' && id !== '..', { error: 'must not be . or .., which cannot be part of a URL' })
  .refine((id) => !RESERVED_JOB_IDS.has(id.toLowerCase()), {
    error: ({ input }) => `${String(input)} is reserved: /jobs/${String(input)} is a path of the API`,
  });
export const itemIdSchema = storable(z.string().min(1).max(MAX_ITEM_ID_LENGTH));
export const groupSchema = storable(z.string().min(1).max(MAX_GROUP_LENGTH));
export const jobNameSchema = storable(z.string().max(500));
/** Labels are stored in the job's row and read with it. */
const MAX_LABELS = 50;
export const labelsSchema = z
  .record(storable(z.string().max(100)), storable(z.string().max(500)))
  .refine((labels) => Object.keys(labels).length <= MAX_LABELS, {
    error: ({ input }) => `at most ${MAX_LABELS} labels are allowed, not ${Object.keys(input as object).length}`,
  })
  .meta({ maxProperties: MAX_LABELS });
/** How a job's items are put into batches. */
export const batchingSchema = z
  .strictObject({
    by: z.literal('group').meta({ description: 'Neighbouring items with the same `group` go together.' }),
    max_items: z.int().min(1).max(MAX_BATCH_ITEMS).meta({ description: 'Maximum number of items in a batch.' }),
  })
  .meta({ id: 'Batching', description: 'Which items share a worker, and how many at most.' });
/** It is only looked up, never stored. */
export const scraperIdSchema = z.string().min(1).max(200);

function storable(schema: z.ZodString): z.ZodString {
  return schema.refine((text) => textProblem(text) === null, {
    error: ({ input }) => textProblem(String(input)) ?? 'cannot be stored',
  });
}
