import { z } from 'zod';
import { ARTIFACT_KINDS } from '../domain/artifact.ts';
import { SKIP_REASONS } from '../domain/skip-reason.ts';
import {
  amount,
  amountOrNull,
  count,
  flag,
  itemId,
  jobId,
  list,
  nextCursor,
  text,
  time,
  timeOrNull,
} from './answer-fields.ts';
import { errorSchema } from './failure-answers.ts';
import { failureTypeSchema, itemStatusSchema } from './statuses.ts';
import { ITEM_USAGE_FIELDS } from './usage-answers.ts';

/** What the API says about items: those that were uploaded, and what became of each. */

/**
 * Why a line of an upload was not added. After `lines_lost` and `rest_unread` the list is longer than what was read, so
 * that a job started now would lack items.
 */
const BAD_LINE_CODES = ['unreadable', 'invalid_input', 'lines_lost', 'rest_unread'] as const;
export type BadLineCode = (typeof BAD_LINE_CODES)[number];

export const badLineSchema = z.object({
  line: z.int().min(1).meta({ description: '1-based number of the line in the body.' }),
  code: z.enum(BAD_LINE_CODES).meta({
    description:
      '`unreadable`: the line is not an item. `invalid_input`: the scraper does not accept its input. `lines_lost`: an ' +
      'unclosed quote swallowed the lines after it. `rest_unread`: nothing after it could be read.',
  }),
  problem: text('What is wrong with the line, for people.'),
});

export const addedSchema = z
  .object({
    job_id: jobId,
    received: count('Lines, rows or entries that were read.'),
    added: count('Items that are new to the job.'),
    duplicates: count(
      'Items whose id the job already had. They are left unchanged, except for those under `replaced`.',
    ),
    replaced: count(
      'Duplicates of failed items that came with a different input. The items run again with that input.',
    ),
    replaced_ids: list(itemId, 'The ids of the first hundred replaced items.'),
    conflicts: count('Other duplicates that came with a different input. The job keeps the input it had.'),
    conflicting_ids: list(itemId, 'The ids of the first hundred conflicts.'),
    bad: count('Lines that could not be used. All others were kept.'),
    bad_lines: list(badLineSchema, 'The first hundred bad lines.'),
    ignored_columns: list(
      text('Name of a column.'),
      'Columns of a CSV that were ignored because the scraper does not know them.',
    ),
    incomplete: flag('Whether part of the list could not be read at all: a line has `lines_lost` or `rest_unread`.'),
  })
  .meta({ id: 'AddedItems', description: 'What became of the lines of an upload.' });

const artifactSchema = z
  .object({
    kind: z.enum(ARTIFACT_KINDS).meta({ description: 'What it is.' }),
    name: text('Name of the page; only if the kind is `page`.').optional(),
    key: text('Its key in the result store.'),
    offset: count('Where it begins under that key; only if it is a slice of a larger object.').optional(),
    length: count('How many bytes the slice has; only if it is one.').optional(),
    size: count('Size in bytes, uncompressed.'),
    sha256: text('SHA-256 of the uncompressed bytes, in hex.'),
    content_type: text('Content type, as the site or the scraper gave it.'),
    encoding: z.enum(['identity', 'gzip']).meta({ description: 'How the bytes are stored.' }),
    href: text('Where to download it.'),
  })
  .meta({ id: 'Artifact', description: 'Something that was stored for an item.' });

const skipReason = (description: string) => {
  const reasons =
    '`cached`: the page was already there. `known-bad`: it is known not to exist. ' +
    '`robots`: the robots.txt of the site disallows it.';
  return z
    .enum(SKIP_REASONS)
    .nullable()
    .meta({ description: `${description} ${reasons}` });
};

const itemSchema = z
  .object({
    item_id: itemId,
    status: itemStatusSchema,
    input: z.record(z.string(), z.unknown()).meta({ description: 'The input for the scraper, as it was sent.' }),
    group: text('The group of the item; only if it was given one.').optional(),
    depth: z
      .int()
      .min(1)
      .optional()
      .meta({ description: 'Only of a found item: 1 if a submitted item found it, 2 if such an item did, and so on.' }),
    error: errorSchema.nullable().meta({ description: 'Why the item failed; null unless its status is `failed`.' }),
    skip_reason: skipReason('Why the item was skipped; null unless its status is `skipped`.'),
    attempts: count('Finished attempts. An item that a stopping worker gave back is not charged an attempt.'),
    tries: count('Tries within the last attempt.'),
    first_attempt_at: timeOrNull('When the earliest known attempt began.'),
    last_attempt_at: timeOrNull('When the last attempt began.'),
    duration_ms: amountOrNull('Duration of the last attempt.'),
    ...ITEM_USAGE_FIELDS,
    artifacts: list(artifactSchema, 'What was stored for the item.'),
  })
  .meta({ id: 'Item', description: 'An item as listed.' });

const failedTrySchema = z.object({
  try: z.int().min(1).meta({ description: '1-based number of the try within the attempt.' }),
  error_type: failureTypeSchema,
  message: text('What went wrong, cut short.'),
  failed_at: time('When it failed.'),
  wait_ms: amountOrNull('How long the item waited before the next try; null if there was none.'),
});

const attemptSchema = z.object({
  attempt: z.int().min(1).meta({ description: '1-based number among the finished attempts.' }),
  delivery: z.int().min(1).meta({
    description: '1-based number among all deliveries to workers, finished or not. From 2 on it names the folder.',
  }),
  tries: count('Tries within the attempt.'),
  started_at: time('When it began.'),
  duration_ms: amount('How long it took.'),
  ...ITEM_USAGE_FIELDS,
  status: z.enum(['success', 'failed', 'skipped']).meta({ description: 'How it ended.' }),
  error: errorSchema.nullable().meta({
    description:
      'Why it failed; null if it did not. Of several tries, the one that says most about the item: a fault of the item, ' +
      'then what was seen most often, then the last.',
  }),
  skip_reason: skipReason('Why it was skipped; null if it was not.'),
  failed_tries: list(
    failedTrySchema,
    'The most recent tries that failed, oldest first; empty if the attempt had only one try.',
  ),
  scraper_version: text('The scraper version that ran; that of the re-extraction if its data replaced the attempt’s.'),
});

export const itemDetailSchema = itemSchema
  .extend({
    job_id: jobId,
    scraper_id: text('The scraper that produced the data: the job’s own, or that of a re-extraction.'),
    scraper_version: text('The scraper version that ran last; before the first attempt, the job’s.'),
    deliveries: count('How often the item was delivered to a worker.'),
    strikes: count(
      'How often a worker died or went silent while processing the item, since it was last opened; 0 if that happened once, which says nothing about the item.',
    ),
    history: list(attemptSchema, 'The most recent finished attempts, oldest first.'),
  })
  .meta({ id: 'ItemDetail', description: 'An item with its attempts.' });

export const itemPageSchema = z.object({
  items: list(itemSchema, 'In the order in which they were added.'),
  next_cursor: nextCursor,
});

export type AddedAnswer = z.infer<typeof addedSchema>;
export type ItemAnswer = z.infer<typeof itemSchema>;
export type ItemDetailAnswer = z.infer<typeof itemDetailSchema>;
export type ItemPageAnswer = z.infer<typeof itemPageSchema>;
