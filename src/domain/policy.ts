import { z } from 'zod';
import { browserSchema } from './browser-policy.ts';
import { budgetSchema } from './budget-policy.ts';
import { discoverySchema } from './discovery-policy.ts';
import { proxySchema } from './proxy-policy.ts';

/**
 * A job's settings: parsed once at the edge, strictly and with defaults, so that inside every field is present. The
 * field names are those of the user's document, because that document is what we store and show.
 */

const seconds = z.number().finite().min(0).max(86_400);
const positiveSeconds = z.number().finite().gt(0).max(86_400);
const count = z.number().int().min(1);

export const throttlingSchema = z
  .strictObject({
    max_concurrent_workers: count.max(10_000).meta({ description: 'Maximum number of items in flight.' }).default(3),
    min_delay_between_items_seconds: seconds
      .meta({ description: 'Minimum time between beginning one item and the next, over all workers.' })
      .default(0),
    max_requests_per_second: z
      .number()
      .finite()
      .gt(0)
      .max(100_000)
      .nullable()
      .meta({ description: 'Maximum number of requests per second, over all hosts and workers; null for no limit.' })
      .default(null),
    weight: z
      .number()
      .min(0.01)
      .max(100)
      .meta({
        description: 'Share of a host that several jobs visit at the same time, in proportion to their weights.',
      })
      .default(1),
    adaptive: z
      .boolean()
      .meta({
        description: 'Whether to lower concurrency while the site refuses requests, and raise it again afterwards.',
      })
      .default(true),
  })
  .meta({ description: 'How fast the job may run.' });

export const retriesSchema = z
  .strictObject({
    max_retries: z
      .number()
      .int()
      .min(0)
      .max(20)
      .meta({ description: 'How often an item is retried after a transient failure.' })
      .default(3),
    backoff_strategy: z
      .enum(['exponential', 'linear'])
      .meta({ description: 'Whether waits grow as 1, 2, 4 … or as 1, 2, 3 … times the factor.' })
      .default('exponential'),
    backoff_factor: z.number().finite().min(0).max(60).meta({ description: 'First wait, in seconds.' }).default(1),
    max_backoff_seconds: seconds.meta({ description: 'Longest wait.' }).default(60),
    max_retry_after_seconds: positiveSeconds
      .meta({
        description:
          'Longest pause that one answer of a host may ask for (Retry-After), for all jobs; longer ones are shortened to it.',
      })
      .default(3600),
  })
  .meta({ description: 'What happens after a transient failure.' });

const timeoutsSchema = z
  .strictObject({
    connect_timeout_seconds: positiveSeconds.meta({ description: 'Time limit for connecting.' }).default(10),
    request_timeout_seconds: positiveSeconds
      .meta({ description: 'Time limit for one request and its answer.' })
      .default(30),
    item_timeout_seconds: positiveSeconds
      .meta({ description: 'Time limit for an item, including all tries.' })
      .default(300),
  })
  .meta({ description: 'Time limits.' });

export const circuitBreakerSchema = z
  .strictObject({
    min_requests: count
      .max(1_000_000)
      .meta({ description: 'Items that must finish before the failure rate is considered.' })
      .default(50),
    failure_threshold_percentage: z
      .number()
      .gt(0, 'must be a fraction above 0')
      .max(1, 'must be a fraction: 0.25 means 25 %')
      .meta({ description: 'Failure rate that stops the job, as a fraction: 0.25 means 25 %.' })
      .default(0.25),
    consecutive_failures: count
      .max(1_000_000)
      .nullable()
      .meta({
        description:
          'Consecutive failures that stop the job, regardless of the failure rate; null means 20, or min_requests if that is larger.',
      })
      .default(null),
    on_trip: z
      .enum(['fail', 'pause'])
      .meta({ description: 'Status of the job when the breaker stops it: failed or paused. Either can be resumed.' })
      .default('fail'),
    cooldown_seconds: positiveSeconds
      .nullable()
      .meta({
        description: 'Time after which a stopped job tries one item automatically; null to wait until it is resumed.',
      })
      .default(null),
    max_wait_seconds: positiveSeconds
      .meta({
        description:
          'How long the job waits for a host that asks for time or is down, if no item succeeds meanwhile; then it is paused.',
      })
      .default(21_600),
    count_all_failures: z
      .boolean()
      .meta({ description: 'Whether input failures such as `not_found` and `no_results` count like all others.' })
      .default(false),
  })
  .meta({ description: 'When to stop a job that keeps failing.' });

/** Below `min_requests` nothing is known yet: a job that is to be watched for 1,000 items must not stop after 20. */
const LEAST_STREAK = 20;

/** Computed instead of stored, so that the limit follows a later change of `min_requests`. */
export function consecutiveFailureLimit({ consecutive_failures, min_requests }: BreakerPolicy): number {
  return consecutive_failures ?? Math.max(LEAST_STREAK, min_requests);
}

const resultsSchema = z
  .strictObject({
    keep_html: z
      .boolean()
      .meta({ description: 'Whether to keep pages: only stored pages can be extracted again.' })
      .default(true),
    keep_failures: z
      .number()
      .int()
      .min(0)
      .max(100)
      .meta({
        description:
          'How many pages to keep of each group of failures, with the requests that led to them; each worker process counts ' +
          'for itself. 0 keeps none.',
      })
      .default(3),
    screenshot: z
      .enum(['never', 'on_failure', 'always'])
      .meta({
        description:
          'When to keep a screenshot of the page that a browser scraper was on at its end. Scrapers without a browser have none.',
      })
      .default('never'),
    item_manifests: z
      .boolean()
      .nullable()
      .meta({
        description:
          'Whether `manifests/items/{item_id}.json` is written as each item ends: its status and the keys of its files. ' +
          'Null means yes for results in files, except for items that succeeded and kept nothing, and no for S3, where it ' +
          'costs one more PUT per item.',
      })
      .default(null),
  })
  .meta({ description: 'What to keep.' });

const controlSchema = z
  .strictObject({
    input: z.record(z.string(), z.unknown()).meta({ description: 'Input for the scraper, like that of an item.' }),
    expect: z.record(z.string(), z.unknown()).optional().meta({
      description: 'Fields of its data and their values. Without it, the data must stay as they were the first time.',
    }),
  })
  .meta({ description: 'An input that is known to exist.' });

const controlsSchema = z
  .strictObject({
    items: z
      .array(controlSchema)
      .max(20)
      .meta({ description: 'Inputs that are known to exist, tried in turn while the job runs.' })
      .default([]),
    every: count
      .max(1_000_000)
      .meta({ description: 'No more than this many items are risked between two controls.' })
      .default(500),
    ignore: z
      .array(z.string().min(1).max(200))
      .max(100)
      .meta({ description: 'Fields of the data that may change from one control to the next.' })
      .default([]),
  })
  .meta({ description: 'How to notice that a site no longer finds existing records.' });

export const policySchema = z.strictObject({
  throttling: throttlingSchema.prefault({}),
  proxy: proxySchema.prefault({}),
  retries: retriesSchema.prefault({}),
  timeouts: timeoutsSchema.prefault({}),
  circuit_breaker: circuitBreakerSchema.prefault({}),
  results: resultsSchema.prefault({}),
  controls: controlsSchema.prefault({}),
  budget: budgetSchema.prefault({}),
  discovery: discoverySchema.prefault({}),
  robots: z
    .enum(['respect', 'ignore'])
    .meta({
      description:
        'Whether to follow the robots.txt of a site, as `trawl`. With `respect`, items whose page it disallows are skipped with ' +
        'the reason `robots`, and its crawl-delay is kept.',
    })
    .default('ignore'),
  browser: browserSchema.prefault({}),
});

export type Policy = z.infer<typeof policySchema>;
export type ThrottlingPolicy = Policy['throttling'];
export type RetryPolicy = Policy['retries'];
export type BreakerPolicy = Policy['circuit_breaker'];
export type ControlItem = Policy['controls']['items'][number];

export const DEFAULT_POLICY: Policy = policySchema.parse({});

type Section = Exclude<keyof Policy, 'robots'>;

/** Any of a policy's fields, section by section. */
export type PartialPolicy = { readonly [Name in Section]?: Partial<Policy[Name]> } & Partial<Pick<Policy, 'robots'>>;

/** The policy with these fields changed; all others stay as they are. */
export function mergePolicy(policy: Policy, change: PartialPolicy): Policy {
  return {
    throttling: { ...policy.throttling, ...change.throttling },
    proxy: { ...policy.proxy, ...change.proxy },
    retries: { ...policy.retries, ...change.retries },
    timeouts: { ...policy.timeouts, ...change.timeouts },
    circuit_breaker: { ...policy.circuit_breaker, ...change.circuit_breaker },
    results: { ...policy.results, ...change.results },
    controls: { ...policy.controls, ...change.controls },
    budget: { ...policy.budget, ...change.budget },
    discovery: { ...policy.discovery, ...change.discovery },
    robots: change.robots ?? policy.robots,
    browser: { ...policy.browser, ...change.browser },
  };
}

/** Completes a policy stored by an earlier version: fields unknown to it get their defaults. */
export function completePolicy(stored: PartialPolicy): Policy {
  return mergePolicy(DEFAULT_POLICY, stored);
}
