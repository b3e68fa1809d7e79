import { z } from 'zod';
import { policySchema } from '../domain/policy.ts';
import {
  amount,
  amountOrNull,
  count,
  flag,
  jobId,
  list,
  nextCursor,
  onlyIf,
  text,
  textOrNull,
  time,
  timeOrNull,
} from './answer-fields.ts';
import { controlsAnswerSchema } from './control-answers.ts';
import { discoverySchema } from './discovery-answers.ts';
import { failureGroupSchema } from './failure-answers.ts';
import { jobForecastSchema } from './forecast-answers.ts';
import { batchingSchema } from './job-fields.ts';
import { warningSchema } from './problem-answer.ts';
import { failureTypeSchema, jobStatusSchema } from './statuses.ts';
import { jobStepsSchema } from './step-answers.ts';
import { budgetSchema, usageSchema } from './usage-answers.ts';

/**
 * What the API says about jobs. These schemas type the presenters, describe the API in the OpenAPI document, and are
 * used by tests to check every answer. Times are ISO 8601 in UTC; durations are in the unit given by the field's name.
 */
const jobName = textOrNull('A display name; null if none was given.');
const scraperId = text('The scraper that runs.');
const scraperVersion = text('Version of the scraper when the job was created.');
const held = flag('Whether the job accepts items but waits for `start`.');
const removing = onlyIf('Present while the job is being deleted. Its id can be reused once the job is gone.');

export const summarySchema = z
  .object({
    pending: count('Not yet dispatched.'),
    queued: count('Dispatched, waiting for a worker.'),
    in_progress: count('Being processed by a worker.'),
    success: count('Scraped.'),
    failed: count('Failed for good; a retry reopens them.'),
    skipped: count('Skipped: there was no need to scrape them, or the site disallows it (`skip_reason` of the item).'),
    cancelled: count('Not processed because the job was cancelled.'),
    total: count('All items of the job.'),
  })
  .meta({ id: 'Summary', description: 'Items by status. The seven counts add up to the total at every read.' });

export const reasonSchema = z
  .object({
    code: z.enum(['user', 'breaker', 'storage', 'host', 'control', 'budget']).meta({
      description:
        'What stopped the job: a user, too many failures, the storage, a host that is down for too long, a control item, or ' +
        'its budget.',
    }),
    message: text('The same for people.'),
    evidence: list(failureGroupSchema, 'The most frequent failures at that moment.'),
  })
  .meta({ id: 'Reason', description: 'Why the job is paused or failed.' });

export const jobSummarySchema = z
  .object({
    job_id: jobId,
    job_name: jobName,
    status: jobStatusSchema,
    held,
    scraper_id: scraperId,
    scraper_version: scraperVersion,
    labels: z.record(z.string(), z.string()).meta({ description: 'The labels given when the job was created.' }),
    created_at: time('When the job was created.'),
    started_at: timeOrNull('When the first item was dispatched.'),
    finished_at: timeOrNull('When the job completed, failed or was cancelled; null before that.'),
    progress_pct: z.number().min(0).max(100).meta({ description: 'Percentage of items that are final.' }),
    summary: summarySchema,
    reason: reasonSchema.nullable().meta({ description: 'Why the job is paused or failed; null otherwise.' }),
    removing,
  })
  .meta({ id: 'JobSummary', description: 'A job in short.' });

const breakerSchema = z
  .object({
    state: z.enum(['closed', 'open', 'probing']).meta({
      description: 'closed: items are dispatched. open: none are. probing: a single item is, and its outcome decides.',
    }),
    since: timeOrNull('When the breaker opened; null while it is closed.'),
    probe_at: timeOrNull('When it will probe automatically; null if it will not.'),
    finished: count('Items that count towards the failure rate.'),
    failed: count('How many of those failed in a way that is held against the site.'),
    consecutive_failures: count('Current run of such failures.'),
  })
  .meta({ id: 'Breaker', description: 'Circuit breaker state and what it has counted since it last closed.' });

export const waitingSchema = list(
  z.object({
    error_type: failureTypeSchema,
    items: count('Items that wait.'),
    until: time('When the first of them is tried again.'),
  }),
  'Items in progress that wait for another try, by the failure of the last one. Empty on AWS, where workers do not report it.',
);

export const waitingForSchema = z
  .object({
    host: text('The host.'),
    until: time('When its items are dispatched again.'),
    reason: text('What the host answered.'),
  })
  .nullable()
  .meta({
    description:
      'The host that keeps the job waiting, because it asked for more time than an item may take or because it is down; ' +
      'null otherwise. Items that came back because of it are charged nothing. A job with `batching` goes on with its ' +
      'other batches meanwhile; if several hosts keep items of it waiting, this is the one with the longest pause.',
  });

export const jobSchema = jobSummarySchema
  .extend({
    round: z.int().min(1).meta({ description: 'Starts at 1; each retry of a completed job begins another round.' }),
    elapsed_seconds: amount('From the start until the end of the job, or until now.'),
    eta_seconds: amountOrNull('Time left at the current rate; null until there is enough data.'),
    items_per_second: amountOrNull('Items finished per second; null until there is enough data.'),
    forecast: jobForecastSchema,
    input: z
      .object({
        scraper_id: scraperId,
        scraper_version: scraperVersion,
        items: count('Items of the job.'),
        recording: z
          .object({
            origin: z.enum(['inline', 'stored']).meta({
              description: '`inline`: it came with the job. `stored`: a copy of the stored scraper, as it was then.',
            }),
            steps: count('Steps that are not in others.'),
            sha256: text('Digest of the recording: jobs with the same one run the same steps.'),
          })
          .nullable()
          .meta({
            description: 'The job’s own recording (`GET /jobs/{job_id}/recording`); null if its scraper is a file.',
          }),
        extracts: textOrNull('For a re-extraction, the job whose stored pages it reads; null otherwise.'),
      })
      .meta({ description: 'What the job works on.' }),
    progress: z
      .object({
        completed: count('Items that are final, whatever their outcome.'),
        success: count('Scraped.'),
        skipped: count('Skipped.'),
        failed: count('Failed.'),
        cancelled: count('Cancelled.'),
      })
      .meta({ description: 'Final items by outcome.' }),
    workers: z
      .object({
        total: count('Items dispatched so far.'),
        completed: count('Dispatched items that are final.'),
        in_flight: count('Items that are queued or in progress.'),
        limit: z.int().min(1).meta({ description: 'How many items may be in flight right now.' }),
      })
      .meta({ description: 'Items dispatched to workers, and the current limit.' }),
    waiting: waitingSchema,
    waiting_for: waitingForSchema,
    errors: z.array(failureGroupSchema).max(10).meta({ description: 'The most frequent failures.' }),
    steps: jobStepsSchema
      .nullable()
      .meta({ description: 'What was seen of the steps of a recording; null for a job without one.' }),
    policy: policySchema.meta({ id: 'Policy', description: 'The execution policy in force, with every setting.' }),
    batching: batchingSchema
      .nullable()
      .meta({ description: 'How items are put into batches; null if the server decides.' }),
    breaker: breakerSchema,
    controls: controlsAnswerSchema
      .nullable()
      .meta({ description: 'What the control items of the policy returned; null without any.' }),
    usage: usageSchema,
    budget: budgetSchema,
    discovery: discoverySchema,
    fenced: count('Late writes rejected because the worker had lost its lease.'),
    results: z
      .object({
        ready: flag('Whether the result index is written.'),
        scraper_versions: z.array(z.string()).nullable().meta({
          description: 'Scraper versions that produced the results; null until the index is written, or if unknown.',
        }),
        parts: count('Parts of the index.')
          .nullable()
          .meta({ description: 'Parts of the index; null until it is written.' }),
      })
      .meta({ description: 'State of the result index.' }),
    replaced_by: textOrNull('The re-extraction whose data replaced this job’s own; null if none did.'),
    recovering: flag(
      'Whether failed items that a re-extraction could read are still being turned into successes. Counts change until then.',
    ),
    warnings: list(
      warningSchema,
      'What is worth knowing while the job runs, such as an edited scraper that is not used, or a selector that has stopped matching.',
    ),
  })
  .meta({ id: 'Job', description: 'A job: its progress, its failures and its policy.' });

const listedJobSchema = jobSummarySchema
  .extend({
    sites: list(z.string(), 'Only of a bulk job: ids of the sites that have pages.').optional(),
    progress: text('Only of a bulk job: `completed/to_scrape`, such as `12/950`.').optional(),
  })
  .meta({ id: 'ListedJob', description: 'A job as listed.' });

export const jobPageSchema = z.object({ jobs: list(listedJobSchema, 'Newest first.'), next_cursor: nextCursor });

export const createdSchema = z
  .object({
    job_id: jobId,
    job_name: jobName,
    status: jobStatusSchema,
    held,
    scraper_id: scraperId,
    scraper_version: scraperVersion,
    seeded_count: count('Items the job has now.'),
    created_at: time('When the job was created.'),
    warnings: list(warningSchema, 'What the server did without being asked, such as using its default scraper.'),
  })
  .meta({ id: 'CreatedJob', description: 'A job that was created.' });

export const jobStatusAnswerSchema = z.object({
  job_id: jobId,
  status: jobStatusSchema,
  summary: summarySchema,
  waiting_for: waitingForSchema,
  removing,
});

export const retriedSchema = z.object({
  job_id: jobId,
  status: jobStatusSchema,
  preview: flag('Whether items were only counted.'),
  items: count('Items that were reopened, or would be.'),
});

export type JobAnswer = z.infer<typeof jobSchema>;
export type JobSummaryAnswer = z.infer<typeof jobSummarySchema>;
export type JobPageAnswer = z.infer<typeof jobPageSchema>;
export type CreatedAnswer = z.infer<typeof createdSchema>;
export type JobStatusAnswer = z.infer<typeof jobStatusAnswerSchema>;
export type SummaryAnswer = z.infer<typeof summarySchema>;
export type RetriedAnswer = z.infer<typeof retriedSchema>;
