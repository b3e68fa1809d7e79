import { z } from 'zod';
import { count, flag, itemId, jobId, list, text, textOrNull, timeOrNull } from './answer-fields.ts';
import { failureTypeSchema } from './statuses.ts';

/** What the API says about failures: of one attempt, and grouped for a whole job. */
const retryable = flag('Whether failures of this type are retried automatically.');

export const errorSchema = z
  .object({
    type: failureTypeSchema,
    message: text('What went wrong.'),
    retryable,
    cause: textOrNull('The underlying cause, if one was reported.'),
  })
  .meta({ id: 'ItemError', description: 'Why an attempt failed.' });

const exampleSchema = z.object({
  item_id: itemId,
  message: text('The full message.'),
  page: textOrNull('Where to download the page it failed on; null if it was not kept.'),
});

export const failureGroupSchema = z
  .object({
    id: text('Id of the group, for `retry`. It stays valid while an item of the group has failed.'),
    type: failureTypeSchema,
    pattern: text('The failure message with ids, numbers, addresses and quoted texts removed.'),
    url_pattern: textOrNull(
      'The address the failure was seen at, with ids, numbers and query values removed; null if nothing was requested.',
    ),
    page: textOrNull('Name of the layout of the page the failure was seen on; null if there was no page.'),
    count: count('Failures in the group.'),
    retryable,
    first_at: timeOrNull('When the first of them failed; null if an older version counted it.'),
    last_at: timeOrNull('When the last of them failed.'),
    examples: list(exampleSchema, 'A few items of the group.'),
  })
  .meta({ id: 'FailureGroup', description: 'Similar failures, regardless of how many items they affected.' });

export const failuresSchema = z.object({
  job_id: jobId,
  failed: count('Failed items in the job.'),
  groups: list(failureGroupSchema, 'Most frequent first.'),
});

export type FailureGroupAnswer = z.infer<typeof failureGroupSchema>;
export type FailuresAnswer = z.infer<typeof failuresSchema>;
