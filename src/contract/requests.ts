import { z } from 'zod';
import { ARTIFACT_LABEL, ARTIFACT_LABELS } from '../domain/artifact.ts';
import { parseHost } from '../domain/host-pause.ts';
import { MAX_NOTE_LENGTH } from '../domain/host-settings.ts';
import { MAX_SAMPLE } from '../domain/job-plan.ts';
import { parseColumns } from './item-columns.ts';
import { itemIdSchema, jobIdSchema, jobNameSchema, labelsSchema, scraperIdSchema } from './job-fields.ts';
import { flag, jsonText, whole } from './query-fields.ts';
import { failureTypeSchema, itemStatusSchema, jobStatusSchema } from './statuses.ts';

/** Paths, queries and small bodies of requests. New jobs are in `new-job.ts`, policies in `policy-change.ts`. */

/** As long as the longest id that a job or an item can be created with; an id that could not be stored is not found. */
const jobId = z.string().min(1).max(200).meta({ description: 'The job id.' });
const itemId = z.string().min(1).max(1000).meta({ description: 'The item id.' });

export const jobPath = z.strictObject({ job_id: jobId });
export const itemPath = z.strictObject({ job_id: jobId, item_id: itemId });
export const scraperPath = z.strictObject({
  scraper_id: scraperIdSchema.meta({ description: 'The scraper id.' }),
});

export const scraperQuery = z.strictObject({
  version: z.string().min(1).max(100).optional().meta({
    description: 'A version of a stored recording; if omitted, the current one.',
  }),
});

/** Parses to the form under which pauses are stored. */
export const hostPath = z.strictObject({
  host: z
    .string()
    .min(1)
    .max(300)
    .transform((text, context) => {
      const host = parseHost(text);
      if (host !== null) return host;
      context.addIssue({ code: 'custom', message: 'must be a host such as county.gov or county.gov:8080' });
      return z.NEVER;
    })
    .pipe(z.string())
    .meta({ description: 'Host name, with the port unless it is the default one.' }),
});

export const hostSettingsBody = z
  .strictObject({
    max_concurrent_requests: z
      .int()
      .min(1)
      .max(10_000)
      .nullable()
      .meta({ description: 'Maximum number of concurrent requests; null for the configured default.' })
      .default(null),
    requests_per_second: z
      .number()
      .min(0.001)
      .max(100_000)
      .nullable()
      .meta({ description: 'Maximum number of requests started per second; null for no limit.' })
      .default(null),
    min_delay_seconds: z
      .number()
      .min(0)
      .max(3600)
      .nullable()
      .meta({ description: 'Minimum time between the starts of two requests; null for the configured default.' })
      .default(null),
    note: z
      .string()
      .max(MAX_NOTE_LENGTH)
      .nullable()
      .meta({ description: 'Why these settings were made. While the host is paused, it is shown as the reason.' })
      .default(null),
    paused_until: z.iso
      .datetime({ offset: true })
      .nullable()
      .meta({ description: 'No job contacts the host before this time, at most a year ahead; null for no pause.' })
      .default(null),
    version: z
      .string()
      .min(1)
      .max(100)
      .optional()
      .meta({
        description:
          'Replace the settings only if they still have this version; `none` if there must be none yet. If omitted, the ' +
          'last request wins.',
      }),
  })
  .meta({ id: 'HostSettingsRequest', description: 'All settings of a host. Settings that are left out are cleared.' });

const cursor = z.string().min(1).max(2000).optional().meta({ description: '`next_cursor` of the previous page.' });

export const jobsQuery = z.strictObject({
  limit: whole(1, 100, 'Maximum number of jobs per page.').default(20),
  cursor,
  status: jobStatusSchema.optional().meta({ description: 'Only jobs with this status.' }),
});

export const itemsQuery = z.strictObject({
  limit: whole(1, 1000, 'Maximum number of items per page.').default(100),
  cursor,
  status: itemStatusSchema.optional().meta({ description: 'Only items with this status.' }),
  error_type: failureTypeSchema.optional().meta({ description: 'Only items that failed with this type.' }),
});

/** How to read a list. */
const listQuery = {
  limit: whole(1, 1_000_000_000, 'Add at most this many usable items; the rest of the body is not read.').optional(),
  columns: z
    .string()
    .max(10_000)
    .transform((text, context) => {
      const parsed = parseColumns(text);
      if ('mapping' in parsed) return parsed.mapping;
      context.addIssue({ code: 'custom', message: parsed.problem });
      return z.NEVER;
    })
    .optional()
    .meta({
      description:
        'For CSV: which column each field of the input is read from, such as `parid=APN,name=Owner`. A field that is not ' +
        'named is read from the column of its own name. A pair with a comma is put in double quotes.',
    }),
  strict: flag('For CSV: refuse a list that has columns the scraper does not know, instead of ignoring these columns.'),
};

export const addItemsQuery = z.strictObject(listQuery);

export const planPath = z.strictObject({
  plan_id: z.string().min(1).max(200).meta({ description: 'The plan id.' }),
});

export const planQuery = z.strictObject({
  sample: whole(
    0,
    MAX_SAMPLE,
    'Items to run; 0 only checks the inputs. If omitted, 20, or three times the concurrency of the policy if that is more.',
  ).optional(),
  keep: flag('Keep the job of the sample and its results. Otherwise they are deleted after a day, or with the plan.'),
  scraper_id: scraperIdSchema.optional().meta({
    description: 'The scraper to run. With it, the body is a list of items, as `POST /jobs/{job_id}/items` takes it.',
  }),
  execution_policy: jsonText('With `scraper_id`: the execution policy as JSON.').optional(),
  ...listQuery,
});

export const failuresQuery = z.strictObject({ limit: whole(1, 200, 'Maximum number of groups.').default(50) });

const resultFilter = z
  .enum(['all', 'success', 'errors', 'error'])
  .default('all')
  .transform((filter) => (filter === 'error' ? 'errors' : filter))
  .meta({ description: 'Which items: all, successes, or failures. `error` is accepted for `errors`.' });

export const resultsQuery = z.strictObject({
  filter: resultFilter,
  part: whole(0, 10_000_000, '0-based part of the index. If omitted, the parts are listed.').optional(),
});

export const exportQuery = z.strictObject({
  format: z
    .enum(['jsonl', 'csv', 'parquet', 'zip'])
    .meta({ description: 'File format of the export.' })
    .default('jsonl'),
  filter: resultFilter,
  explode: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .meta({
      description:
        'Name of a list in the data, such as `bills`: one row per entry of the list instead of one per item, with the ' +
        'item’s own fields that are not nested. Items without entries have no row.',
    }),
  bom: flag('Begin a CSV with a byte order mark, so that Excel reads it as UTF-8.'),
});

export const downloadQuery = z.strictObject({
  artifact: z
    .string()
    .regex(ARTIFACT_LABEL, `must be one of ${ARTIFACT_LABELS}`)
    .meta({ description: `Which of the item’s artifacts: ${ARTIFACT_LABELS}.` }),
  redirect: flag('Redirect to the stored object, if the store can serve it directly.'),
});

/** For an operation that takes no input. */
export const nothing = z.strictObject({});

export const retryBody = z
  .strictObject({
    status: z.literal('failed').optional().meta({ description: 'Only failed items can be reopened.' }),
    error_type: failureTypeSchema.optional().meta({ description: 'Only items that failed with this type.' }),
    item_ids: z
      .array(itemIdSchema)
      .min(1)
      .max(10_000)
      .optional()
      .meta({ description: 'Only these items, if they failed.' }),
    group: z
      .string()
      .regex(/^[0-9a-f]{12}$/, 'must be the id of a group, as GET /jobs/{job_id}/failures shows it')
      .optional()
      .meta({ description: 'Only items whose failure is in the group with this id: see GET /jobs/{job_id}/failures.' }),
    preview: z.boolean().meta({ description: 'Only count the items.' }).default(false),
  })
  .meta({ id: 'RetryRequest', description: 'Which failed items to reopen; without any condition, all of them.' });

export const compareQuery = z.strictObject({
  with: z
    .string()
    .min(1)
    .max(200)
    .meta({ description: 'The job to compare with, such as an earlier run of the same list.' }),
});

export const extractBody = z
  .strictObject({
    job_id: jobIdSchema.optional().meta({ description: 'Id of the new job. If omitted, the server generates one.' }),
    job_name: jobNameSchema.optional().meta({ description: 'Display name of the new job.' }),
    scraper_id: scraperIdSchema
      .optional()
      .meta({ description: 'The scraper whose parse to run. If omitted, the one the job used.' }),
    max_concurrent_workers: z
      .int()
      .min(1)
      .max(10_000)
      .meta({ description: 'How many stored pages to parse at a time. No site is contacted.' })
      .default(64),
    labels: labelsSchema.meta({ description: 'Labels of the new job.' }).default({}),
  })
  .meta({ id: 'ExtractRequest', description: 'How to parse the stored pages of a job again.' });
