import { z } from 'zod';
import { ARTIFACT_KINDS } from '../../domain/artifact.ts';
import { FAILURE_TYPES } from '../../domain/failure.ts';
import { ITEM_STATUSES } from '../../domain/item.ts';
import { JOB_STATUSES } from '../../domain/job.ts';
import { LANES } from '../../domain/lane.ts';
import { policySchema } from '../../domain/policy.ts';

/**
 * What the API answers, as schemas: the types of the presenters, the OpenAPI document, and what tests hold every answer
 * against. Times are ISO 8601 in UTC, durations are in the unit that the name tells.
 */
const count = z.int().min(0);
const time = z.iso.datetime();

export const jobStatusSchema = z.enum(JOB_STATUSES).meta({ id: 'JobStatus' });
export const itemStatusSchema = z.enum(ITEM_STATUSES).meta({ id: 'ItemStatus' });
export const failureTypeSchema = z.enum(FAILURE_TYPES).meta({ id: 'FailureType' });

export const summarySchema = z
  .object({
    pending: count,
    queued: count,
    in_progress: count,
    success: count,
    failed: count,
    skipped: count,
    cancelled: count,
    total: count,
  })
  .meta({ id: 'Summary', description: 'Items by status. The seven add up to the total, at every read.' });

export const failureGroupSchema = z
  .object({
    type: failureTypeSchema,
    pattern: z.string().meta({ description: 'The message without its particulars.' }),
    page: z.string().nullable().meta({ description: 'Fingerprint of the page on which it was seen.' }),
    count,
    retryable: z.boolean(),
    examples: z.array(z.object({ item_id: z.string(), message: z.string() })),
  })
  .meta({ id: 'FailureGroup' });

export const reasonSchema = z
  .object({
    code: z.enum(['user', 'breaker', 'storage']),
    message: z.string(),
    evidence: z.array(failureGroupSchema),
  })
  .meta({ id: 'Reason', description: 'Why the job is paused or failed, and what was seen.' });

export const jobSummarySchema = z
  .object({
    job_id: z.string(),
    job_name: z.string().nullable(),
    status: jobStatusSchema,
    held: z.boolean().meta({ description: 'It takes items and waits for start.' }),
    scraper_id: z.string(),
    scraper_version: z.string(),
    labels: z.record(z.string(), z.string()),
    created_at: time,
    started_at: time.nullable(),
    finished_at: time.nullable(),
    progress_pct: z.number().min(0).max(100),
    summary: summarySchema,
    reason: reasonSchema.nullable(),
  })
  .meta({ id: 'JobSummary' });

export const breakerSchema = z
  .object({
    state: z.enum(['closed', 'open', 'probing']),
    since: time.nullable(),
    probe_at: time.nullable(),
    finished: count,
    failed: count,
    consecutive_failures: count,
  })
  .meta({ id: 'Breaker', description: 'What counts for the circuit breaker since it was last closed.' });

export const jobSchema = jobSummarySchema
  .extend({
    round: z.int().min(1).meta({ description: 'One more for each retry of a job that was completed.' }),
    elapsed_seconds: z.number().min(0),
    eta_seconds: z.number().min(0).nullable(),
    items_per_second: z.number().min(0).nullable(),
    input: z.object({
      scraper_id: z.string(),
      scraper_version: z.string(),
      items: count,
      extracts: z.string().nullable().meta({ description: 'The job whose pages it reads, if it is a re-extraction.' }),
    }),
    progress: z.object({ completed: count, success: count, skipped: count, failed: count, cancelled: count }),
    workers: z
      .object({ total: count, completed: count, in_flight: count, limit: z.int().min(1) })
      .meta({ description: 'Items that went out to workers so far, and how many of them ended; and the limit now.' }),
    errors: z.array(failureGroupSchema).max(10),
    policy: policySchema.meta({ id: 'Policy' }),
    breaker: breakerSchema,
    fenced: count.meta({ description: 'Late writes of workers that had lost their lease: refused.' }),
    results: z.object({ ready: z.boolean(), parts: count.nullable() }),
    replaced_by: z.string().nullable().meta({ description: 'The re-extraction whose data stand for the job’s own.' }),
  })
  .meta({ id: 'Job' });

export const jobPageSchema = z.object({ jobs: z.array(jobSummarySchema), next_cursor: z.string().nullable() });

export const createdSchema = z
  .object({
    job_id: z.string(),
    job_name: z.string().nullable(),
    status: jobStatusSchema,
    held: z.boolean(),
    scraper_id: z.string(),
    scraper_version: z.string(),
    seeded_count: count,
    created_at: time,
  })
  .meta({ id: 'CreatedJob' });

export const jobStatusAnswerSchema = z.object({ job_id: z.string(), status: jobStatusSchema, summary: summarySchema });

export const badLineSchema = z.object({ line: z.int().min(1), problem: z.string() });

export const addedSchema = z
  .object({
    job_id: z.string(),
    received: count.meta({ description: 'Lines, rows or entries that were read.' }),
    added: count,
    duplicates: count.meta({ description: 'Items whose id the job had already. They were left alone.' }),
    bad: count.meta({ description: 'Lines that could not be used. The others were kept.' }),
    bad_lines: z.array(badLineSchema).meta({ description: 'The first hundred of them.' }),
  })
  .meta({ id: 'AddedItems' });

export const errorSchema = z
  .object({ type: failureTypeSchema, message: z.string(), retryable: z.boolean(), cause: z.string().nullable() })
  .meta({ id: 'ItemError' });

export const artifactSchema = z
  .object({
    kind: z.enum(ARTIFACT_KINDS),
    key: z.string(),
    size: count,
    sha256: z.string(),
    content_type: z.string(),
    encoding: z.enum(['identity', 'gzip']),
    href: z.string(),
  })
  .meta({ id: 'Artifact' });

export const itemSchema = z
  .object({
    item_id: z.string(),
    status: itemStatusSchema,
    input: z.record(z.string(), z.unknown()),
    error: errorSchema.nullable(),
    attempts: count,
    tries: count,
    first_attempt_at: time.nullable(),
    last_attempt_at: time.nullable(),
    duration_ms: z.number().min(0).nullable(),
    artifacts: z.array(artifactSchema),
  })
  .meta({ id: 'Item' });

export const itemDetailSchema = itemSchema
  .extend({
    job_id: z.string(),
    scraper_id: z.string(),
    scraper_version: z.string(),
    deliveries: count,
    strikes: count,
    history: z.array(
      z.object({
        attempt: z.int().min(1),
        tries: count,
        started_at: time,
        duration_ms: z.number().min(0),
        status: z.enum(['success', 'failed', 'skipped']),
        error: errorSchema.nullable(),
      }),
    ),
  })
  .meta({ id: 'ItemDetail' });

export const itemPageSchema = z.object({ items: z.array(itemSchema), next_cursor: z.string().nullable() });

export const failuresSchema = z.object({ job_id: z.string(), failed: count, groups: z.array(failureGroupSchema) });

export const retriedSchema = z.object({
  job_id: z.string(),
  status: jobStatusSchema,
  preview: z.boolean(),
  items: count.meta({ description: 'Items that were opened again, or would be.' }),
});

export const resultsSchema = z
  .object({
    job_id: z.string(),
    status: jobStatusSchema,
    filter: z.enum(['all', 'success', 'errors']),
    final: z.boolean().meta({ description: 'False while the job goes on: parts hold what is final so far.' }),
    summary: summarySchema,
    parts: z.array(z.object({ part: count, items: count.nullable(), sha256: z.string().nullable(), href: z.string() })),
  })
  .meta({ id: 'Results' });

export const resultPartSchema = z
  .object({
    job_id: z.string(),
    list: z.enum(['full', 'success', 'errors']),
    part: count,
    count,
    items: z.array(z.looseObject({ item_id: z.string(), status: itemStatusSchema })),
  })
  .meta({ id: 'ResultPart' });

export const scraperSummarySchema = z
  .object({
    id: z.string(),
    name: z.string(),
    version: z.string(),
    description: z.string(),
    kind: z.string(),
    hosts: z.array(z.string()).nullable(),
  })
  .meta({ id: 'ScraperSummary' });

export const scrapersSchema = z.object({
  scrapers: z.array(scraperSummarySchema),
  broken: z.array(z.object({ id: z.string().nullable(), problem: z.string() })),
});

export const scraperSchema = scraperSummarySchema
  .extend({
    lane: z.enum(LANES),
    can_extract: z.boolean(),
    input_schema: z.looseObject({}),
    output_schema: z.looseObject({}).nullable(),
  })
  .meta({ id: 'Scraper' });

export const queueSchema = z.object({
  lanes: z.array(z.object({ lane: z.enum(LANES), waiting: count, in_flight: count })),
});

export const healthSchema = z.object({ status: z.literal('ok'), version: z.string(), uptime_seconds: z.number() });

export const readySchema = z.object({
  ready: z.boolean(),
  checks: z.array(z.object({ name: z.string(), ok: z.boolean(), message: z.string().nullable() })),
});

/** What a re-extraction found different, field by field. */
export const changesSchema = z
  .object({
    job_id: z.string(),
    extracts: z.string(),
    state: z
      .enum(['waiting', 'comparing', 'complete'])
      .meta({ description: 'waiting: the job is not over. comparing: ask again.' }),
    compared: count,
    total: count,
    changed: count.meta({ description: 'Items of which at least one field is different.' }),
    failed: count.meta({ description: 'Items that the new parse could not read. They keep their old data.' }),
    fields: z.array(
      z.object({
        field: z.string().meta({ description: 'owner, or bills[].amount for a field of a list.' }),
        items: count,
        added: count,
        removed: count,
        examples: z.array(z.object({ item_id: z.string(), before: z.unknown(), after: z.unknown() })),
      }),
    ),
    replaced: z.boolean().meta({ description: 'Whether its data stand for those of the older job by now.' }),
  })
  .meta({ id: 'Changes' });

export const extractedSchema = createdSchema
  .extend({
    extracts: z.string(),
    without_page: count.meta({ description: 'Successful items of which no page was kept. They stay as they are.' }),
  })
  .meta({ id: 'CreatedExtraction' });

export const problemSchema = z
  .object({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    code: z.string(),
    detail: z.string(),
    errors: z.array(z.object({ path: z.string(), message: z.string() })).optional(),
  })
  .meta({ id: 'Problem', description: 'What is wrong, where, and what to do (RFC 9457).' });

export type JobAnswer = z.infer<typeof jobSchema>;
export type JobSummaryAnswer = z.infer<typeof jobSummarySchema>;
export type JobPageAnswer = z.infer<typeof jobPageSchema>;
export type CreatedAnswer = z.infer<typeof createdSchema>;
export type JobStatusAnswer = z.infer<typeof jobStatusAnswerSchema>;
export type SummaryAnswer = z.infer<typeof summarySchema>;
export type AddedAnswer = z.infer<typeof addedSchema>;
export type ItemAnswer = z.infer<typeof itemSchema>;
export type ItemDetailAnswer = z.infer<typeof itemDetailSchema>;
export type ItemPageAnswer = z.infer<typeof itemPageSchema>;
export type FailureGroupAnswer = z.infer<typeof failureGroupSchema>;
export type FailuresAnswer = z.infer<typeof failuresSchema>;
export type RetriedAnswer = z.infer<typeof retriedSchema>;
export type ResultsAnswer = z.infer<typeof resultsSchema>;
export type ResultPartAnswer = z.infer<typeof resultPartSchema>;
export type ScrapersAnswer = z.infer<typeof scrapersSchema>;
export type ScraperAnswer = z.infer<typeof scraperSchema>;
export type ChangesAnswer = z.infer<typeof changesSchema>;
export type ExtractedAnswer = z.infer<typeof extractedSchema>;
export type ProblemAnswer = z.infer<typeof problemSchema>;
