import { z } from 'zod';
import { DEFAULT_MAX_AGE_SECONDS } from '../domain/cached-page.ts';
import { policySchema } from '../domain/policy.ts';
import { jobIdSchema, jobNameSchema, labelsSchema } from './job-fields.ts';
import { jsonText, whole } from './query-fields.ts';

/** The body of `POST /jobs/bulk`, or its query if the body is a plain list of URLs. */

/** How a list of URLs is written: one per line, CSV with a column `url`, a JSON array, or JSON line by line. */
export type UrlFormat = 'lines' | 'csv' | 'json' | 'jsonl';

export const URL_CONTENT_TYPES = {
  lines: 'text/plain',
  csv: 'text/csv',
  json: 'application/json',
  jsonl: 'application/x-ndjson',
} as const satisfies Record<UrlFormat, string>;

const FORMATS = Object.entries(URL_CONTENT_TYPES) as readonly (readonly [UrlFormat, string])[];

/** Null for a content type that cannot hold a list. */
export function urlFormatOf(mediaType: string): UrlFormat | null {
  return FORMATS.find(([, type]) => type === mediaType)?.[0] ?? null;
}

const MAX_CONTAINERS = 100;
export const DEFAULT_DELAY_MS = 1000;
/** Ten years. */
const MAX_AGE_LIMIT = 315_360_000;

const maxAge = z.int().min(0).max(MAX_AGE_LIMIT);
const LONGEST_DELAY_MS = 60_000;
const delayMs = z.int().min(0).max(LONGEST_DELAY_MS);
const maxContainers = z.int().min(1).max(10_000);
const unknown = z.enum(['report', 'auto']);

const MAX_AGE =
  'Pages that were read within this many seconds are taken from the cache; 0 asks the site for every page.';
const DELAY = 'Milliseconds between two requests of a batch.';
const CONTAINERS =
  'Maximum number of concurrent batches, which is also the number of batches that the pages are divided into.';
const UNKNOWN =
  'URLs that belong to no configured site: `report` only counts them, `auto` pulls them with a generic configuration.';

/** In a query. */
export const maxAgeText = whole(0, MAX_AGE_LIMIT, MAX_AGE);
export const delayText = whole(0, LONGEST_DELAY_MS, DELAY);

export const bulkFieldsSchema = z.strictObject({
  max_age: maxAge.meta({ description: MAX_AGE }).default(DEFAULT_MAX_AGE_SECONDS),
  delay_ms: delayMs.meta({ description: DELAY }).default(DEFAULT_DELAY_MS),
  max_containers: maxContainers.meta({ description: CONTAINERS }).default(MAX_CONTAINERS),
  unknown: unknown.meta({ description: UNKNOWN }).default('report'),
  job_id: jobIdSchema.optional().meta({ description: 'If omitted, the server generates one.' }),
  job_name: jobNameSchema.optional().meta({ description: 'A display name.' }),
  labels: labelsSchema.meta({ description: 'Your own labels; they are returned with the job.' }).default({}),
  execution_policy: policySchema
    .meta({ description: 'The execution policy. Omitted settings take their defaults.' })
    .prefault({}),
  hold: z.boolean().meta({ description: 'Create the job, but wait for `start`.' }).default(false),
});

export type BulkFields = z.output<typeof bulkFieldsSchema>;

export const bulkRequestSchema = bulkFieldsSchema
  .extend({
    urls: z
      .array(z.union([z.string(), z.object({ url: z.string().meta({ description: 'URL of a page.' }) })]))
      .meta({ description: 'URLs of pages, any number of them. A URL that occurs twice is pulled twice.' }),
  })
  .meta({ id: 'BulkRequest', description: 'Documentation pages to pull.' });

/** The query for a body that is a plain list. */
export const bulkQuery = z.strictObject({
  max_age: maxAgeText.optional(),
  delay_ms: delayText.optional(),
  max_containers: whole(1, 10_000, CONTAINERS).optional(),
  unknown: unknown.optional().meta({ description: UNKNOWN }),
  job_id: jobIdSchema.optional().meta({ description: 'Id of the job. If omitted, the server generates one.' }),
  job_name: jobNameSchema.optional().meta({ description: 'A display name.' }),
  labels: jsonText('Labels as JSON.').optional(),
  execution_policy: jsonText('The execution policy as JSON.').optional(),
});
