import { z } from 'zod';
import { STRATEGIES } from '../domain/run-options.ts';
import { count, flag, jobId, list, text, textOrNull, time } from './answer-fields.ts';
import { summarySchema } from './job-answers.ts';
import { warningSchema } from './problem-answer.ts';
import { jobStatusSchema } from './statuses.ts';

/** What the API says about scrape runs that it carries out. */

const runId = text('The id of the run in the ETL API.');
const domain = text('The domain of the run.');

const carriedFields = {
  run_id: runId,
  domain,
  round: count('From 1. Items that are added to the run meanwhile, or retried, make another round.'),
  job_id: jobId,
  job_status: jobStatusSchema
    .nullable()
    .meta({ description: 'Status of the job of this round; null before it exists.' }),
  summary: summarySchema.nullable().meta({ description: 'Its items by status; null before it exists.' }),
  scraper_id: text('The scraper.'),
  sessions: count('Number of sessions.'),
  strategy: z.enum(STRATEGIES).meta({ description: 'How items are given to sessions.' }),
  max_items_per_session: count('Maximum number of items that a session gets at a time.'),
  started_at: time('When it was started.'),
};

const carriedRunSchema = z
  .object(carriedFields)
  .meta({ id: 'CarriedRun', description: 'A scrape run that is being carried out: until it is finalized.' });

export const startedRunSchema = z
  .object({
    ...carriedFields,
    already_started: flag('Whether a run of this domain was being carried out before: then nothing was done.'),
    new_run: flag('Whether the run was created by this request.'),
    warnings: list(warningSchema, 'What the run will have to wait for.'),
  })
  .meta({ id: 'StartedRun', description: 'The run that is being carried out.' });

export const nothingPendingSchema = z
  .object({ run_id: runId, domain, nothing_pending: z.literal(true).meta({ description: 'The run is finalized.' }) })
  .meta({ id: 'NothingPending', description: 'A run in which nothing was left to do.' });

const runStatsSchema = z
  .object({
    total: count('All items.'),
    completed: count('Items that are done.'),
    failed: count('Items that failed or are invalid.'),
    pending: count('Items that have not ended.'),
  })
  .meta({ id: 'RunStats', description: 'Items of a run by state.' });

export const foundRunSchema = z
  .object({
    run_id: runId,
    domain,
    status: textOrNull('Status of the run as the ETL API gives it; null if it gives none.'),
    start_time: text('When the run began, as the ETL API gives it.'),
    end_time: textOrNull('When it ended; null if it has not.'),
    items: runStatsSchema,
    carried: carriedRunSchema.nullable().meta({ description: 'How it is being carried out here; null if it is not.' }),
    job_ids: list(z.string(), 'Jobs of its rounds that exist, oldest first.'),
  })
  .meta({ id: 'FoundRun', description: 'A run of the ETL API.' });

export const carriedRunsSchema = z
  .object({ runs: list(carriedRunSchema, 'By domain.') })
  .meta({ id: 'CarriedRuns', description: 'The runs that are being carried out.' });

export const finalizedRunSchema = z
  .object({ run_id: runId, items: runStatsSchema })
  .meta({ id: 'FinalizedRun', description: 'A run that was finalized.' });

export type CarriedRunsAnswer = z.infer<typeof carriedRunsSchema>;
export type CarriedRunAnswer = z.infer<typeof carriedRunSchema>;
export type StartedRunAnswer = z.infer<typeof startedRunSchema>;
export type NothingPendingAnswer = z.infer<typeof nothingPendingSchema>;
export type FoundRunAnswer = z.infer<typeof foundRunSchema>;
export type RunStatsAnswer = z.infer<typeof runStatsSchema>;
