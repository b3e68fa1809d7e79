import { z } from 'zod';
import { RUN_STATUSES } from '../domain/scrape-run.ts';
import { count, flag, list, nextCursor, onlyIf, text, textOrNull, time, timeOrNull } from './answer-fields.ts';

/** Answers about scrape runs. Their fields have the names that ETL servers use. */

export const runItemAnswerSchema = z
  .object({
    url: text('URL of the item.'),
    done: flag('Whether it was scraped.'),
    failed: onlyIf('Present if it failed.'),
    invalid: onlyIf('Present if the input is at fault.'),
    failedReason: text('Why it failed; absent if no reason is known.').optional(),
  })
  .meta({ id: 'ScrapeRunItem', description: 'An item of a scrape run.' });

export const runCountsSchema = z
  .object({
    total: count('Items of the run.'),
    pending: count('Items that are neither done nor failed nor invalid.'),
    completed: count('Items that are done.'),
    failed: count('Items that failed, without invalid ones.'),
    invalid: count('Items whose input is at fault.'),
  })
  .meta({ id: 'ScrapeRunCounts', description: 'The items of a run, counted by state.' });

export const runStatusSchema = z
  .enum(RUN_STATUSES)
  .meta({ description: '`pending` until the first item is reported, then `processing`; the others end a run.' });

const metadata = z
  .object({
    started_at: text('When the run started, as its client gave it.').optional(),
    finished_at: textOrNull('When it finished.'),
    finished_count: count('Items that were scraped.'),
    total_count: count('Items of the run.'),
    failed_count: count('Items that failed, including invalid ones.'),
  })
  .meta({ description: 'As the client gave it; what the client left out is counted by the server.' });

export const runSchema = z
  .object({
    _id: text('The id of the run.'),
    id: text('The same.'),
    domain: text('The domain that the run is about.'),
    source: text('What started the run; absent if the client did not say.').optional(),
    status: runStatusSchema,
    startTime: time('When the run started.'),
    endTime: timeOrNull('When it ended; null until then.'),
    createdAt: time('When it was created here.'),
    updatedAt: time('When the run or one of its items was last changed.'),
    metadata,
    counts: runCountsSchema,
    items: list(
      runItemAnswerSchema,
      'The items in the order in which they were added; absent if they were not asked for.',
    ).optional(),
  })
  .meta({ id: 'ScrapeRun', description: 'A scrape run.' });

export const runListSchema = z
  .object({
    data: list(runSchema, 'The runs of this page.'),
    pagination: z
      .object({
        currentPage: count('Number of this page, from 1.'),
        totalPages: count('Number of pages.'),
        totalItems: count('Number of runs on all pages.'),
        limit: count('Maximum number of runs per page.'),
      })
      .meta({ description: 'Where this page is.' }),
  })
  .meta({ id: 'ScrapeRunList', description: 'A page of scrape runs.' });

export const runItemPageSchema = z
  .object({
    items: list(runItemAnswerSchema, 'The items of this page.'),
    counts: runCountsSchema,
    next_cursor: nextCursor,
  })
  .meta({ id: 'ScrapeRunItemPage', description: 'A page of the items of a run.' });

export const addedRunItemsSchema = z
  .object({
    added: count('Items that were added.'),
    known: count('URLs that the run already had, or that occurred twice.'),
    counts: runCountsSchema,
  })
  .meta({ id: 'AddedScrapeRunItems', description: 'What became of the items.' });

export const updatedRunItemsSchema = z
  .object({
    updated: count('Changes that were applied. A server that ignores `updateItems` does not answer this.'),
    unknown: list(z.string(), 'URLs that are not in the run; their changes were ignored.'),
  })
  .meta({ id: 'UpdatedScrapeRunItems', description: 'What became of the changes.' });

export type RunAnswer = z.infer<typeof runSchema>;
export type RunItemAnswer = z.infer<typeof runItemAnswerSchema>;
export type RunCountsAnswer = z.infer<typeof runCountsSchema>;
export type RunListAnswer = z.infer<typeof runListSchema>;
export type RunItemPageAnswer = z.infer<typeof runItemPageSchema>;
export type AddedRunItemsAnswer = z.infer<typeof addedRunItemsSchema>;
export type UpdatedRunItemsAnswer = z.infer<typeof updatedRunItemsSchema>;
