import { z } from 'zod';

/**
 * A job's settings: parsed once at the edge, strictly and with defaults, so that inside every field is present. The
 * field names are those of the user's document, because that document is what we store and show.
 */

const seconds = z.number().finite().min(0).max(86_400);
const positiveSeconds = z.number().finite().gt(0).max(86_400);
const count = z.number().int().min(1);

const proxyType = z.enum(['none', 'datacenter', 'residential', 'web_unlocker', 'custom']);

export const throttlingSchema = z.strictObject({
  max_concurrent_workers: count.max(10_000).default(3),
  min_delay_between_items_seconds: seconds.default(0),
  max_requests_per_second: z.number().finite().gt(0).max(100_000).nullable().default(null),
  adaptive: z.boolean().default(true),
});

export const proxySchema = z.strictObject({
  type: proxyType.default('none'),
  geo_target: z
    .strictObject({
      country: z.string().length(2).toLowerCase(),
      state: z.string().length(2).toLowerCase().optional(),
      city: z.string().min(1).max(100).optional(),
    })
    .nullable()
    .default(null),
  session: z.enum(['sticky', 'rotate']).default('sticky'),
  escalate: z.array(proxyType).max(5).default([]),
});

export const retriesSchema = z.strictObject({
  max_retries: z.number().int().min(0).max(20).default(3),
  backoff_strategy: z.enum(['exponential', 'linear']).default('exponential'),
  backoff_factor: z.number().finite().min(0).max(60).default(1),
  max_backoff_seconds: seconds.default(60),
});

export const timeoutsSchema = z.strictObject({
  connect_timeout_seconds: positiveSeconds.default(10),
  request_timeout_seconds: positiveSeconds.default(30),
  item_timeout_seconds: positiveSeconds.default(300),
});

export const circuitBreakerSchema = z.strictObject({
  min_requests: count.max(1_000_000).default(50),
  failure_threshold_percentage: z
    .number()
    .gt(0, 'a fraction above 0')
    .max(1, 'a fraction: 0.25 stands for 25 %')
    .default(0.25),
  consecutive_failures: count.max(1_000_000).default(20),
  on_trip: z.enum(['fail', 'pause']).default('fail'),
  cooldown_seconds: positiveSeconds.nullable().default(null),
});

export const resultsSchema = z.strictObject({
  keep_html: z.boolean().default(true),
  screenshot: z.enum(['never', 'on_failure', 'always']).default('never'),
});

export const policySchema = z.strictObject({
  throttling: throttlingSchema.prefault({}),
  proxy: proxySchema.prefault({}),
  retries: retriesSchema.prefault({}),
  timeouts: timeoutsSchema.prefault({}),
  circuit_breaker: circuitBreakerSchema.prefault({}),
  results: resultsSchema.prefault({}),
  robots: z.enum(['respect', 'ignore']).default('ignore'),
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
