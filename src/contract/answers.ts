import { z } from 'zod';
import { ARTIFACT_KINDS } from '../domain/artifact.ts';
import { FAILURE_TYPES } from '../domain/failure.ts';
import { ITEM_STATUSES } from '../domain/item.ts';
import { JOB_STATUSES } from '../domain/job-steps.ts';
import { policySchema } from '../domain/policy.ts';
import {
  amount,
  amountOrNull,
  count,
  flag,
  list,
  onlyIf,
  text,
  textOrNull,
  time,
  timeOrNull,
} from './answer-fields.ts';
import { PROBLEMS, type ProblemCode } from './problem.ts';

/**
 * What the API answers, as schemas: the types of the presenters, the OpenAPI document, and what tests hold every answer
 * against. Times are ISO 8601 in UTC, durations are in the unit that the name tells.
 */
const jobId = text('The id of the job.');
const jobName = textOrNull('What people call it; null if it was given no name.');
const itemId = text('The id of the item: unique within its job.');
const scraperId = text('The scraper that runs.');
const scraperVersion = text('The version of the scraper, as it was when the job was made.');
const held = flag('It takes items and waits for start.');
const removing = onlyIf('There while the job is being deleted; its id is free when the job is gone.');
const nextCursor = textOrNull('Send it as `cursor` for the next page; null on the last one.');

export const jobStatusSchema = z.enum(JOB_STATUSES).meta({
  id: 'JobStatus',
  description:
    'How a job stands. `completed`: every item has ended, and the manifests are written. `paused` and `failed` can be ' +
    'resumed; `cancelled` is for good.',
});
export const itemStatusSchema = z.enum(ITEM_STATUSES).meta({
  id: 'ItemStatus',
  description: 'How an item stands. The last four are ends; only a retry opens a failed item again.',
});
export const failureTypeSchema = z
  .enum(FAILURE_TYPES)
  .meta({ id: 'FailureType', description: 'What kind of failure it was: whether it is retried follows from it.' });

export const summarySchema = z
  .object({
    pending: count('Not yet dispatched.'),
    queued: count('Dispatched; no worker has them yet.'),
    in_progress: count('In the hands of a worker.'),
    success: count('Scraped.'),
    failed: count('Given up; a retry opens them again.'),
    skipped: count('Passed over: there was no need to scrape them.'),
    cancelled: count('Not done, because the job was cancelled.'),
    total: count('All items of the job.'),
  })
  .meta({ id: 'Summary', description: 'Items by status. The seven add up to the total, at every read.' });

export const failureGroupSchema = z
  .object({
    type: failureTypeSchema,
    pattern: text('The message without its particulars.'),
    page: textOrNull('Fingerprint of the page on which it was seen.'),
    count: count('Failures of the group.'),
    retryable: flag('Whether failures of this type are tried again by themselves.'),
    examples: list(z.object({ item_id: itemId, message: text('What it said, in full.') }), 'A few of its items.'),
  })
  .meta({ id: 'FailureGroup', description: 'Failures that are alike, however many items they hit.' });

export const reasonSchema = z
  .object({
    code: z
      .enum(['user', 'breaker', 'storage'])
      .meta({ description: 'Who stopped it: somebody, the failures, or the disk.' }),
    message: text('The same in words.'),
    evidence: list(failureGroupSchema, 'The commonest failures at that moment.'),
  })
  .meta({ id: 'Reason', description: 'Why the job is paused or failed, and what was seen.' });

export const jobSummarySchema = z
  .object({
    job_id: jobId,
    job_name: jobName,
    status: jobStatusSchema,
    held,
    scraper_id: scraperId,
    scraper_version: scraperVersion,
    labels: z.record(z.string(), z.string()).meta({ description: 'Labels that it was made with, by name.' }),
    created_at: time('When it was made.'),
    started_at: timeOrNull('When its first item went out.'),
    finished_at: timeOrNull('When its last item ended, or it failed or was cancelled; null until it reads as over.'),
    progress_pct: z.number().min(0).max(100).meta({ description: 'Share of the items that ended, in percent.' }),
    summary: summarySchema,
    reason: reasonSchema.nullable().meta({ description: 'Why it is paused or failed; null otherwise.' }),
    removing,
  })
  .meta({ id: 'JobSummary', description: 'A job, as it stands in a list.' });

export const breakerSchema = z
  .object({
    state: z
      .enum(['closed', 'open', 'probing'])
      .meta({ description: 'closed: work goes out. open: nothing does. probing: one item does, and decides.' }),
    since: timeOrNull('When it was opened; null while it is closed.'),
    probe_at: timeOrNull('When it tries again by itself; null if it does not.'),
    finished: count('Items that ended and count.'),
    failed: count('Of them, failures that speak against the site.'),
    consecutive_failures: count('Such failures in a row, up to now.'),
  })
  .meta({ id: 'Breaker', description: 'What counts for the circuit breaker since it was last closed.' });

export const jobSchema = jobSummarySchema
  .extend({
    round: z.int().min(1).meta({ description: 'One more for each retry of a job that was completed.' }),
    elapsed_seconds: amount('From its start until its end, or until now.'),
    eta_seconds: amountOrNull('Time left at the present rate; null while nobody can tell.'),
    items_per_second: amountOrNull('Items that end in a second; null while nobody can tell.'),
    input: z
      .object({
        scraper_id: scraperId,
        scraper_version: scraperVersion,
        items: count('Items of the job.'),
        extracts: textOrNull('The job whose pages it reads, if it is a re-extraction.'),
      })
      .meta({ description: 'What it works on.' }),
    progress: z
      .object({
        completed: count('Items that ended, in whatever way.'),
        success: count('Scraped.'),
        skipped: count('Passed over.'),
        failed: count('Given up.'),
        cancelled: count('Not done.'),
      })
      .meta({ description: 'Items that ended, by their end.' }),
    workers: z
      .object({
        total: count('Items that went out so far.'),
        completed: count('Of them, those that ended.'),
        in_flight: count('Of them, those that are queued or in progress.'),
        limit: z.int().min(1).meta({ description: 'Items that may be out at a time, just now.' }),
      })
      .meta({ description: 'Items that went out to workers so far, and how many of them ended; and the limit now.' }),
    errors: z.array(failureGroupSchema).max(10).meta({ description: 'The commonest failures.' }),
    policy: policySchema.meta({ id: 'Policy', description: 'What the job is allowed to do: every setting, in full.' }),
    breaker: breakerSchema,
    fenced: count('Late writes of workers that had lost their lease: refused.'),
    results: z
      .object({
        ready: flag('Whether the index of the results is written.'),
        scraper_versions: z.array(z.string()).nullable().meta({
          description: 'Versions of the scraper that the results come from; null before, or if not recorded.',
        }),
        parts: count('Parts of the index.').nullable().meta({ description: 'Parts of the index; null before.' }),
      })
      .meta({ description: 'How the index of the results stands.' }),
    replaced_by: textOrNull('The re-extraction whose data stand for the job’s own.'),
    recovering: flag(
      'Whether failed items that this re-extraction could read are still being made successes. The counts change until then.',
    ),
  })
  .meta({ id: 'Job', description: 'A job: how far it is, what fails, what it is allowed to do.' });

export const jobPageSchema = z.object({ jobs: list(jobSummarySchema, 'Newest first.'), next_cursor: nextCursor });

const fieldErrorSchema = z.object({
  path: text('`items.3.input.apn`; empty for the whole of it.'),
  message: text('What is wrong with it.'),
});

export const createdSchema = z
  .object({
    job_id: jobId,
    job_name: jobName,
    status: jobStatusSchema,
    held,
    scraper_id: scraperId,
    scraper_version: scraperVersion,
    seeded_count: count('Items that it has now.'),
    created_at: time('When it was made.'),
    warnings: list(fieldErrorSchema, 'What the server did without being asked, such as running its default scraper.'),
  })
  .meta({ id: 'CreatedJob', description: 'A job that was made.' });

export const jobStatusAnswerSchema = z.object({
  job_id: jobId,
  status: jobStatusSchema,
  summary: summarySchema,
  removing,
});

export const badLineSchema = z.object({
  line: z.int().min(1).meta({ description: 'Its number in the body; the first is 1.' }),
  problem: text('Why it cannot be used.'),
});

export const addedSchema = z
  .object({
    job_id: jobId,
    received: count('Lines, rows or entries that were read.'),
    added: count('Items that the job did not have before.'),
    duplicates: count('Items whose id the job had already. They were left alone.'),
    conflicts: count('Those of the duplicates whose input differs from the one the job has. The job keeps its own.'),
    conflicting_ids: list(itemId, 'The item ids of the first hundred conflicts.'),
    bad: count('Lines that could not be used. The others were kept.'),
    bad_lines: list(badLineSchema, 'The first hundred of them.'),
  })
  .meta({ id: 'AddedItems', description: 'What became of the lines of an upload.' });

export const errorSchema = z
  .object({
    type: failureTypeSchema,
    message: text('What went wrong.'),
    retryable: flag('Whether failures of this type are tried again by themselves.'),
    cause: textOrNull('What lay beneath it, if anything was told.'),
  })
  .meta({ id: 'ItemError', description: 'How an attempt failed.' });

export const artifactSchema = z
  .object({
    kind: z.enum(ARTIFACT_KINDS).meta({ description: 'What it is.' }),
    key: text('Where it lies in the store.'),
    offset: count('Where it begins under that key, if it is a slice of what is there.').optional(),
    length: count('Bytes that the slice has there, if it is one.').optional(),
    size: count('Bytes, as the scraper gave them.'),
    sha256: text('Of these bytes, in hex.'),
    content_type: text('What they are, as the site or the scraper said.'),
    encoding: z.enum(['identity', 'gzip']).meta({ description: 'How they lie in the store.' }),
    href: text('Where to download it.'),
  })
  .meta({ id: 'Artifact', description: 'Something that was kept of an item.' });

export const itemSchema = z
  .object({
    item_id: itemId,
    status: itemStatusSchema,
    input: z.record(z.string(), z.unknown()).meta({ description: 'What the scraper was given, as it was sent.' }),
    error: errorSchema.nullable().meta({ description: 'How it failed; null unless its status is failed.' }),
    attempts: count('Attempts that came to an end; a worker that was stopped and gave the item back costs none.'),
    tries: count('Tries within the last attempt.'),
    first_attempt_at: timeOrNull('When the earliest attempt that is known began.'),
    last_attempt_at: timeOrNull('When the last one began.'),
    duration_ms: amountOrNull('How long the last one took.'),
    artifacts: list(artifactSchema, 'What was kept of it.'),
  })
  .meta({ id: 'Item', description: 'An item, as it stands in a list.' });

const attemptSchema = z.object({
  attempt: z.int().min(1).meta({ description: 'Its number among the attempts that came to an end.' }),
  delivery: z.int().min(1).meta({
    description: 'Which hand-out to a worker it was; deliveries that came to no end count. Names its folder from 2 on.',
  }),
  tries: count('Tries within it.'),
  started_at: time('When it began.'),
  duration_ms: amount('How long it took.'),
  status: z.enum(['success', 'failed', 'skipped']).meta({ description: 'How it ended.' }),
  error: errorSchema.nullable().meta({ description: 'How it failed; null if it did not.' }),
  scraper_version: text('The version that was run; of a re-extraction, where its data stand for those of the attempt.'),
});

export const itemDetailSchema = itemSchema
  .extend({
    job_id: jobId,
    scraper_id: text('The scraper that its data come from: that of the job, or of a re-extraction.'),
    scraper_version: text('The version of it that was run last; that of the job while none was.'),
    deliveries: count('How often it was handed to a worker, whether or not that came to an end.'),
    strikes: count('How often a worker died or went silent with it, since it was last opened.'),
    history: list(attemptSchema, 'The last attempts that came to an end, oldest first.'),
  })
  .meta({ id: 'ItemDetail', description: 'An item with its attempts.' });

export const itemPageSchema = z.object({
  items: list(itemSchema, 'In the order in which they were added.'),
  next_cursor: nextCursor,
});

export const failuresSchema = z.object({
  job_id: jobId,
  failed: count('Failed items of the job.'),
  groups: list(failureGroupSchema, 'Commonest first.'),
});

export const retriedSchema = z.object({
  job_id: jobId,
  status: jobStatusSchema,
  preview: flag('Whether they were only counted.'),
  items: count('Items that were opened again, or would be.'),
});

const partLinkSchema = z.object({
  part: count('Its number; the first is 0.'),
  items: z.int().min(0).nullable().meta({ description: 'Items in it; null while the job goes on.' }),
  sha256: textOrNull('Of its bytes, in hex; null while the job goes on.'),
  href: text('Where it is.'),
});

export const resultsSchema = z
  .object({
    job_id: jobId,
    status: jobStatusSchema,
    filter: z.enum(['all', 'success', 'errors']).meta({ description: 'Which items the parts are about.' }),
    final: flag('False while the job goes on: parts hold what is final so far.'),
    summary: summarySchema,
    parts: list(partLinkSchema, 'In their order.'),
  })
  .meta({ id: 'Results', description: 'What there is of the results.' });

export const resultPartSchema = z
  .object({
    job_id: jobId,
    list: z.enum(['full', 'success', 'errors']).meta({ description: 'Which list of the index it is of.' }),
    part: count('Its number; the first is 0.'),
    count: count('Items in it.'),
    items: list(z.looseObject({ item_id: itemId, status: itemStatusSchema }), 'In the order in which they were added.'),
  })
  .meta({ id: 'ResultPart', description: 'A part of the index of the results: up to a thousand items.' });

const fieldChangeSchema = z.object({
  field: text('owner, or bills[].amount for a field of a list.'),
  items: count('Items in which it is different.'),
  added: count('Of them, those that did not have it before.'),
  removed: count('Of them, those that have it no more.'),
  examples: list(
    z.object({
      item_id: itemId,
      before: z.unknown().meta({ description: 'Its old value.' }),
      after: z.unknown().meta({ description: 'Its new value.' }),
    }),
    'A few of the items.',
  ),
});

/** What a re-extraction found different, field by field. */
export const changesSchema = z
  .object({
    job_id: text('The re-extraction.'),
    extracts: text('The job whose pages it read.'),
    state: z
      .enum(['waiting', 'comparing', 'complete'])
      .meta({ description: 'waiting: the job is not over. comparing: ask again.' }),
    compared: count('Items that were compared so far.'),
    total: count('Items that there are to compare.'),
    changed: count('Items of which at least one field is different.'),
    failed: count('Items that the new parse could not read. They stay as they are.'),
    recovered: count('Items that had failed and can be read now. They become successes when the results are replaced.'),
    fields: list(fieldChangeSchema, 'Fields that are different in some item.'),
    replaced: flag('Whether its data stand for those of the older job by now.'),
  })
  .meta({ id: 'Changes', description: 'What a re-extraction found different, field by field.' });

export const extractedSchema = createdSchema
  .extend({
    extracts: text('The job whose pages it reads.'),
    without_page: count('Items that succeeded or failed and have no stored page. They stay as they are.'),
  })
  .meta({ id: 'CreatedExtraction', description: 'A re-extraction that was made.' });

export const problemSchema = z
  .object({
    type: text('`urn:trawl:problem:` and the code.'),
    title: text('What the code means, in words.'),
    status: z.int().meta({ description: 'The HTTP status.' }),
    code: z
      .enum(Object.keys(PROBLEMS) as ProblemCode[])
      .meta({ description: 'What programs switch on. A code is never renamed; there may come to be more.' }),
    detail: text('What happened in this case, and what to do: for people.'),
    errors: list(fieldErrorSchema, 'Each bad field.').optional(),
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
export type ChangesAnswer = z.infer<typeof changesSchema>;
export type ExtractedAnswer = z.infer<typeof extractedSchema>;
/** A client may be older than the server: to it, a code is any text. */
export type ProblemAnswer = Omit<z.infer<typeof problemSchema>, 'code'> & { readonly code: string };
