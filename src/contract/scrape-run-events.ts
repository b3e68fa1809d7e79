import { z } from 'zod';
import { count, list, text, timeOrNull } from './answer-fields.ts';
import { eventSchema, resetReasonSchema } from './events.ts';
import { runCountsSchema, runItemAnswerSchema, runStatusSchema } from './scrape-run-answers.ts';

/** The events of `GET /api/scrape-runs/{run_id}/events`. */

const runId = text('The id of the run.');

const status = eventSchema(
  'status',
  { id: 'RunStatusEvent', description: 'The status of the run: the first event, and one for every change.' },
  { run_id: runId, status: runStatusSchema, endTime: timeOrNull('When it ended; null until then.') },
);

const stats = eventSchema(
  'stats',
  { id: 'RunStatsEvent', description: 'The counts of the run; at most twice a second.' },
  { run_id: runId, counts: runCountsSchema },
);

const items = eventSchema(
  'items',
  { id: 'RunItemsEvent', description: 'Items that changed since the previous event of this kind.' },
  {
    run_id: runId,
    items: list(runItemAnswerSchema, 'As they are now; at most a hundred.'),
    omitted: count('Changed items that are not listed.'),
  },
);

const end = eventSchema(
  'end',
  { id: 'RunEndEvent', description: 'The run has ended. The stream ends.' },
  { run_id: runId, status: runStatusSchema, counts: runCountsSchema },
);

const gone = eventSchema(
  'gone',
  { id: 'RunGoneEvent', description: 'The run was deleted. The stream ends.' },
  { run_id: runId },
);

const reset = eventSchema(
  'reset',
  { id: 'RunResetEvent', description: 'Events were missed: list again whatever you need. The current state follows.' },
  { run_id: runId, reason: resetReasonSchema },
);

export const runEventSchema = z
  .discriminatedUnion('event', [status, stats, items, end, gone, reset])
  .meta({ id: 'ScrapeRunEvent', description: 'A server-sent event of a scrape run: its name and its data.' });

export type RunEvent = z.infer<typeof runEventSchema>;
