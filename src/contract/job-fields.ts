import { z } from 'zod';
import { MAX_ITEM_ID_LENGTH } from '../domain/item.ts';
import { textProblem } from '../domain/storable-input.ts';

/** Paths of their own under /jobs, now or soon: a job of that id could not be reached, or would hide them. */
const RESERVED_JOB_IDS: ReadonlySet<string> = new Set(['bulk', 'plan']);

/** What users call jobs and items, in whatever request: only what can be kept and handed out again as it came. */
export const jobIdSchema = storable(z.string().min(1).max(200))
  .refine((id) => id !== '.' && id !== '..', { error: 'must not be . or .., which no address can name' })
  .refine((id) => !RESERVED_JOB_IDS.has(id.toLowerCase()), {
    error: ({ input }) => `${String(input)} is reserved: /jobs/${String(input)} is a path of the API`,
  });
export const itemIdSchema = storable(z.string().min(1).max(MAX_ITEM_ID_LENGTH));
export const jobNameSchema = storable(z.string().max(500));
/** They are kept with the job, in one row, and read whenever it is. */
const MAX_LABELS = 50;
export const labelsSchema = z
  .record(storable(z.string().max(100)), storable(z.string().max(500)))
  .refine((labels) => Object.keys(labels).length <= MAX_LABELS, {
    error: ({ input }) => `at most ${MAX_LABELS} labels, and there are ${Object.keys(input as object).length}`,
  })
  .meta({ maxProperties: MAX_LABELS });
/** Only looked up, and never kept as it came. */
export const scraperIdSchema = z.string().min(1).max(200);

function storable(schema: z.ZodString): z.ZodString {
  return schema.refine((text) => textProblem(text) === null, {
    error: ({ input }) => textProblem(String(input)) ?? 'cannot be kept',
  });
}
