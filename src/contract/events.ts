import { z } from 'zod';
import { amountOrNull, count, flag, itemId, jobId, list } from './answer-fields.ts';
import { discoverySchema } from './discovery-answers.ts';
import { jobForecastSchema } from './forecast-answers.ts';
import { jobSummarySchema, reasonSchema, summarySchema, waitingForSchema, waitingSchema } from './job-answers.ts';
import { warningSchema } from './problem-answer.ts';
import { failureTypeSchema, jobStatusSchema } from './statuses.ts';

/**
 * The events of `GET /jobs/{job_id}/events`, once for the feed that writes them, the clients that read them and the
 * OpenAPI document. `event` is the name of the server-sent event, `data` its JSON.
 */
export function eventSchema<const Name extends string, Data extends z.ZodRawShape>(
  name: Name,
  { id, description }: { readonly id: string; readonly description: string },
  data: Data,
) {
  return z
    .object({
      event: z.literal(name).meta({ description: 'Name of the event.' }),
      data: z.object(data).meta({ description: 'Its data, as JSON.' }),
    })
    .meta({ id, description });
}

const status = eventSchema(
  'status',
  { id: 'StatusEvent', description: 'The status of the job: the first event, and one for every change.' },
  {
    job_id: jobId,
    status: jobStatusSchema,
    reason: reasonSchema.nullable().meta({ description: 'Why the job is paused or failed; null otherwise.' }),
    summary: summarySchema,
  },
);

const progress = eventSchema(
  'progress',
  { id: 'ProgressEvent', description: 'Counts, rate and time left; at most twice a second.' },
  {
    job_id: jobId,
    status: jobStatusSchema,
    progress_pct: jobSummarySchema.shape.progress_pct,
    items_per_second: amountOrNull('Items finished per second; null until there is enough data.'),
    eta_seconds: amountOrNull('Time left at the current rate; null until there is enough data.'),
    forecast: jobForecastSchema,
    summary: summarySchema,
    discovery: discoverySchema,
    waiting: waitingSchema,
    waiting_for: waitingForSchema,
    limit: count('How many items may be in flight right now.'),
    max_limit: count('How many the policy allows; more than `limit` after the site asked us to go slower.'),
  },
);

const outcome = z.object({
  item_id: itemId,
  status: z.enum(['success', 'failed', 'skipped']).meta({ description: 'How the item ended.' }),
  error_type: failureTypeSchema.nullable().meta({ description: 'Type of failure; null if the item did not fail.' }),
  duration_ms: z.number().min(0).meta({ description: 'Duration of the attempt.' }),
});

const items = eventSchema(
  'items',
  { id: 'ItemsEvent', description: 'Outcomes since the previous event of this kind.' },
  {
    job_id: jobId,
    outcomes: list(outcome, 'Failures first; at most a hundred.'),
    omitted: count('Outcomes that are not listed.'),
  },
);

const warnings = eventSchema(
  'warnings',
  {
    id: 'WarningsEvent',
    description:
      'What should be looked at before items fail: selectors of a recording that have stopped matching. Sent when another ' +
      'step is affected, or one no longer is.',
  },
  { job_id: jobId, warnings: list(warningSchema, 'All that apply now; empty if none do any more.') },
);

const end = eventSchema(
  'end',
  { id: 'EndEvent', description: 'The job is over. The stream ends.' },
  {
    job_id: jobId,
    status: jobStatusSchema,
    results_ready: flag('Whether the result index is written.'),
    summary: summarySchema,
  },
);

const gone = eventSchema(
  'gone',
  { id: 'GoneEvent', description: 'The job was deleted. The stream ends.' },
  { job_id: jobId },
);

export const resetReasonSchema = z.enum(['unknown_id', 'too_old', 'too_slow']).meta({
  description:
    '`unknown_id`: the last event id is from before a restart, or of another stream. `too_old`: the events after ' +
    'it are no longer kept. `too_slow`: the client did not read fast enough.',
});

const reset = eventSchema(
  'reset',
  { id: 'ResetEvent', description: 'Events were missed: list again whatever you need. The current state follows.' },
  {
    job_id: jobId,
    reason: resetReasonSchema,
  },
);

export const jobEventSchema = z
  .discriminatedUnion('event', [status, progress, items, warnings, end, gone, reset])
  .meta({ id: 'JobEvent', description: 'A server-sent event of a job: its name and its data.' });

export type JobEvent = z.infer<typeof jobEventSchema>;
export type ResetReason = z.infer<typeof resetReasonSchema>;

type EventName = JobEvent['event'];

const EVENT_NAMES: ReadonlySet<string> = new Set<EventName>(
  jobEventSchema.options.map(({ shape }) => shape.event.value),
);

/**
 * An event as a client received it; null for one that it does not know or cannot read. Only the name decides: a newer
 * server may send a status or a failure type that this client does not know, and that must not cost it the `end`.
 */
export function readJobEvent(event: string, data: string): JobEvent | null {
  if (!EVENT_NAMES.has(event)) return null;
  try {
    return { event, data: JSON.parse(data || '{}') } as JobEvent;
  } catch {
    return null;
  }
}
