import { z } from 'zod';

/**
 * A job's settings: parsed once at the edge, strictly and with defaults, so that inside every field is present. The
 * field names are those of the user's document, because that document is what we store and show.
 */

const seconds = z.number().finite().min(0).max(86_400);
const positiveSeconds = z.number().finite().gt(0).max(86_400);
const count = z.number().int().min(1);

const proxyType = z.enum(['none', 'datacenter', 'residential', 'web_unlocker', 'custom']);

export const throttlingSchema = z
  .strictObject({
    max_concurrent_workers: count
      .max(10_000)
      .meta({ description: 'Items that may be with workers at a time.' })
      .default(3),
    min_delay_between_items_seconds: seconds
      .meta({ description: 'The least time from one item going out to the next.' })
      .default(0),
    max_requests_per_second: z
      .number()
      .finite()
      .gt(0)
      .max(100_000)
      .nullable()
      .meta({ description: 'The most items that go out in a second; null for no limit.' })
      .default(null),
    adaptive: z
      .boolean()
      .meta({ description: 'Fewer at a time while the site refuses, and more again when it does not.' })
      .default(true),
  })
  .meta({ description: 'How fast it may be.' });

export const proxySchema = z
  .strictObject({
    type: proxyType.meta({ description: 'Through which kind of proxy requests go.' }).default('none'),
    geo_target: z
      .strictObject({
        country: z.string().length(2).toLowerCase().meta({ description: 'Two letters: us.' }),
        state: z.string().length(2).toLowerCase().meta({ description: 'Two letters: az.' }).optional(),
        city: z.string().min(1).max(100).meta({ description: 'Its name.' }).optional(),
      })
      .nullable()
      .meta({ description: 'Where the address of the proxy is; null for anywhere.' })
      .default(null),
    session: z
      .enum(['sticky', 'rotate'])
      .meta({ description: 'One address for the whole of an item, or one per request.' })
      .default('sticky'),
    escalate: z
      .array(proxyType)
      .max(5)
      .meta({ description: 'The kinds to go on with, one after the other, when a site blocks.' })
      .default([]),
  })
  .meta({ description: 'By which way requests go. Nothing but the defaults is available yet.' });

export const retriesSchema = z
  .strictObject({
    max_retries: z
      .number()
      .int()
      .min(0)
      .max(20)
      .meta({ description: 'How often an item is tried again after a failure that may pass.' })
      .default(3),
    backoff_strategy: z
      .enum(['exponential', 'linear'])
      .meta({ description: 'Waits of 1, 2, 4 … or 1, 2, 3 … times the factor.' })
      .default('exponential'),
    backoff_factor: z.number().finite().min(0).max(60).meta({ description: 'Seconds of the first wait.' }).default(1),
    max_backoff_seconds: seconds.meta({ description: 'The longest wait.' }).default(60),
    max_retry_after_seconds: positiveSeconds
      .meta({
        description:
          'The longest pause that one answer of a host may ask for (Retry-After), for all jobs; longer ones are cut to it.',
      })
      .default(3600),
  })
  .meta({ description: 'What happens after a failure that may pass.' });

export const timeoutsSchema = z
  .strictObject({
    connect_timeout_seconds: positiveSeconds.meta({ description: 'For a connection to be made.' }).default(10),
    request_timeout_seconds: positiveSeconds.meta({ description: 'For one request and its answer.' }).default(30),
    item_timeout_seconds: positiveSeconds.meta({ description: 'For an item with all its tries.' }).default(300),
  })
  .meta({ description: 'How long things may take.' });

export const circuitBreakerSchema = z
  .strictObject({
    min_requests: count
      .max(1_000_000)
      .meta({ description: 'Items that must have ended before their share of failures counts.' })
      .default(50),
    failure_threshold_percentage: z
      .number()
      .gt(0, 'a fraction above 0')
      .max(1, 'a fraction: 0.25 stands for 25 %')
      .meta({ description: 'The share of failures that stops the job, as a fraction: 0.25 stands for 25 %.' })
      .default(0.25),
    consecutive_failures: count
      .max(1_000_000)
      .nullable()
      .meta({
        description:
          'Consecutive failures that stop the job, regardless of the failure rate; null: 20, or min_requests if that is larger.',
      })
      .default(null),
    on_trip: z
      .enum(['fail', 'pause'])
      .meta({ description: 'What the job becomes when it is stopped. Either can be resumed.' })
      .default('fail'),
    cooldown_seconds: positiveSeconds
      .nullable()
      .meta({ description: 'After so long a stopped job tries one item by itself; null: it waits for somebody.' })
      .default(null),
  })
  .meta({ description: 'When a job that is not going to work stops itself.' });

/** Below `min_requests` nothing is known yet: a job that is to be watched for 1,000 items must not stop after 20. */
const LEAST_STREAK = 20;

/** Kept apart from the stored policy, so that the limit follows a later change of `min_requests`. */
export function consecutiveFailureLimit({ consecutive_failures, min_requests }: BreakerPolicy): number {
  return consecutive_failures ?? Math.max(LEAST_STREAK, min_requests);
}

export const resultsSchema = z
  .strictObject({
    keep_html: z
      .boolean()
      .meta({ description: 'Whether pages are kept: only what was kept can be extracted again.' })
      .default(true),
    screenshot: z
      .enum(['never', 'on_failure', 'always'])
      .meta({ description: 'When a picture of the page is kept. Only never is available yet.' })
      .default('never'),
    item_manifests: z
      .boolean()
      .nullable()
      .meta({
        description:
          'Whether `manifests/items/{item_id}.json` is written as each item ends: its status and the keys of its files. ' +
          'Null: for results in files, yes, except for items that succeeded and kept nothing; for S3, where it is one ' +
          'PUT more per item, no.',
      })
      .default(null),
  })
  .meta({ description: 'What is kept.' });

export const policySchema = z.strictObject({
  throttling: throttlingSchema.prefault({}),
  proxy: proxySchema.prefault({}),
  retries: retriesSchema.prefault({}),
  timeouts: timeoutsSchema.prefault({}),
  circuit_breaker: circuitBreakerSchema.prefault({}),
  results: resultsSchema.prefault({}),
  robots: z
    .enum(['respect', 'ignore'])
    .meta({ description: 'Whether robots.txt of a site is followed. Only ignore is available yet.' })
    .default('ignore'),
});

/**
 * Settings that are part of the contract and that nothing carries out yet. To accept them would be worse than to refuse
 * them: whoever asks for a proxy must not be sent out under their own address.
 */
export function notYetAvailable(policy: Policy): { readonly path: string; readonly message: string }[] {
  const { proxy, results, robots } = policy;
  const asked = [
    ['proxy.type', proxy.type !== 'none'],
    ['proxy.geo_target', proxy.geo_target !== null],
    ['proxy.escalate', proxy.escalate.length > 0],
    ['results.screenshot', results.screenshot !== 'never'],
    ['robots', robots !== 'ignore'],
  ] as const;
  return asked.filter(([, isAsked]) => isAsked).map(([path]) => ({ path, message: 'is not available yet' }));
}

export type Policy = z.infer<typeof policySchema>;
export type ThrottlingPolicy = Policy['throttling'];
export type RetryPolicy = Policy['retries'];
export type BreakerPolicy = Policy['circuit_breaker'];

export const DEFAULT_POLICY: Policy = policySchema.parse({});

type Section = Exclude<keyof Policy, 'robots'>;

/** A policy as an earlier version may have stored it: fields that it did not know yet have their defaults. */
export type StoredPolicy = Pick<Policy, 'robots'> & { readonly [Name in Section]: Partial<Policy[Name]> };

export function completePolicy(stored: StoredPolicy): Policy {
  return {
    throttling: { ...DEFAULT_POLICY.throttling, ...stored.throttling },
    proxy: { ...DEFAULT_POLICY.proxy, ...stored.proxy },
    retries: { ...DEFAULT_POLICY.retries, ...stored.retries },
    timeouts: { ...DEFAULT_POLICY.timeouts, ...stored.timeouts },
    circuit_breaker: { ...DEFAULT_POLICY.circuit_breaker, ...stored.circuit_breaker },
    results: { ...DEFAULT_POLICY.results, ...stored.results },
    robots: stored.robots,
  };
}
