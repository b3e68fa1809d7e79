import { z } from 'zod';
import { policySchema } from '../domain/policy.ts';
import {
  DEFAULT_ITEMS_PER_SESSION,
  DEFAULT_SESSIONS,
  DEFAULT_STRATEGY,
  MAX_ITEMS_PER_SESSION,
  MAX_SESSIONS,
  STRATEGIES,
} from '../domain/run-options.ts';
import { textProblem } from '../domain/storable-input.ts';
import { scraperIdSchema } from './job-fields.ts';

/** Requests to carry out scrape runs. The runs themselves are in an ETL API. */

export const PROVIDERS = ['local', 'cdp', 'browserbase'] as const;

const optionFields = {
  scraper_id: scraperIdSchema
    .optional()
    .meta({ description: 'The scraper. If omitted, the one that has the domain among its hosts.' }),
  sessions: z
    .int()
    .min(1)
    .max(MAX_SESSIONS)
    .meta({ description: 'Number of sessions: groups of items that are processed at the same time.' })
    .default(DEFAULT_SESSIONS),
  strategy: z.enum(STRATEGIES).meta({ description: 'How items are given to sessions.' }).default(DEFAULT_STRATEGY),
  max_items_per_session: z
    .int()
    .min(1)
    .max(MAX_ITEMS_PER_SESSION)
    .meta({ description: 'Maximum number of items that a session gets at a time.' })
    .default(DEFAULT_ITEMS_PER_SESSION),
  provider: z.enum(PROVIDERS).optional().meta({
    description:
      'Where browsers come from. It must be the provider that the workers of this service are configured for.',
  }),
  execution_policy: policySchema
    .meta({ description: 'The execution policy of the job. The number of sessions sets `max_concurrent_workers`.' })
    .prefault({}),
};

const domain = z
  .string()
  .min(1)
  .max(255)
  .refine((text) => textProblem(text) === null, {
    error: ({ input }) => textProblem(String(input)) ?? 'cannot be used',
  });

export const runUrlSchema = z
  .string()
  .refine((text) => /^https?:\/\//i.test(text) && URL.canParse(text), 'must be an absolute http or https URL');

export const startRunSchema = z
  .strictObject({
    domain: domain.meta({ description: 'The domain of the run.' }),
    urls: z
      .array(runUrlSchema)
      .meta({ description: 'URLs of a new run. They are not used if the domain has an active run.' })
      .default([]),
    ...optionFields,
  })
  .meta({ id: 'StartRun', description: 'A scrape run to carry out.' });

export const retryRunSchema = z
  .strictObject({
    failed: z.boolean().meta({ description: 'Whether failed items are tried again.' }).default(true),
    invalid: z.boolean().meta({ description: 'Whether invalid items are tried again.' }).default(false),
    ...optionFields,
  })
  .meta({ id: 'RetryRun', description: 'Which items of a run to try again, and how.' });

export const carriedRunPath = z.strictObject({
  run_id: z.string().min(1).max(500).meta({ description: 'The id of the run in the ETL API.' }),
});

export type RunOptionFields = Omit<z.output<typeof startRunSchema>, 'domain' | 'urls'>;
