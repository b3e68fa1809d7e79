import { z } from 'zod';
import { policySchema } from '../domain/policy.ts';
import {
  batchingSchema,
  groupSchema,
  itemIdSchema,
  jobIdSchema,
  jobNameSchema,
  labelsSchema,
  scraperIdSchema,
} from './job-fields.ts';

/** The body of `POST /jobs`. Unknown fields are rejected by name, and a job is created completely or not at all. */
export const newItemSchema = z.strictObject({
  item_id: itemIdSchema
    .optional()
    .meta({ description: 'Unique within the job. If omitted, it is derived from the input.' }),
  input: z.record(z.string(), z.unknown()).meta({ description: 'Input for the scraper: see its `input_schema`.' }),
  group: groupSchema.optional().meta({
    description: 'What the item belongs to, such as a site. It matters only to a job with `batching`.',
  }),
});

export const newJobSchema = z
  .strictObject({
    job_id: jobIdSchema.optional().meta({ description: 'If omitted, the server generates one.' }),
    job_name: jobNameSchema.optional().meta({ description: 'A display name.' }),
    scraper_id: scraperIdSchema.optional().meta({
      description: 'The scraper to run. If omitted, the server uses its default scraper and says so in `warnings`.',
    }),
    recording: z
      .union([z.record(z.string(), z.unknown()), z.array(z.unknown())])
      .optional()
      .meta({
        description:
          'Instead of `scraper_id`: the steps to carry out, as a recording (`POST /scrapers`) or as a plain list of actions, ' +
          '`[{"action": "click", "selector": "#search"}]`. It belongs to the job. At most 256 KiB.',
      }),
    items: z
      .array(newItemSchema)
      .meta({ description: 'Items to process, any number of them. More can be added at any time.' })
      .default([]),
    execution_policy: policySchema
      .meta({ id: 'NewPolicy', description: 'The execution policy. Omitted settings take their defaults.' })
      .prefault({}),
    labels: labelsSchema.meta({ description: 'Your own labels; they are returned with the job.' }).default({}),
    batching: batchingSchema.optional().meta({
      description:
        'Process items of one group one after another in one worker: a batch is a run of neighbouring items with the same ' +
        '`group`, in the order in which they were added. Put the items of a group next to each other. If omitted, the ' +
        'server decides which items share a worker.',
    }),
    hold: z.boolean().meta({ description: 'Accept items, but wait for `start`.' }).default(false),
  })
  .meta({ id: 'NewJob', description: 'A job to create.' });

/** The form that a client writes. */
export type NewJobRequest = z.input<typeof newJobSchema>;
/** The form after parsing: every field with a default is present. */
export type ParsedNewJob = z.output<typeof newJobSchema>;

const MAX_KEY_LENGTH = 255;

/** The `Idempotency-Key` header of `POST /jobs`. */
const idempotencyKeySchema = z
  .string()
  .min(1, { error: `must have 1 to ${MAX_KEY_LENGTH} characters` })
  .max(MAX_KEY_LENGTH, { error: `must have 1 to ${MAX_KEY_LENGTH} characters` });

export const newJobHeaders = z.strictObject({ 'Idempotency-Key': idempotencyKeySchema.optional() });
