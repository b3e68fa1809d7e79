import type { ScrapeContext } from '../scraper.ts';
import { HttpClient, type HttpClientDeps } from './http-client.ts';

/** Opens a visitor with an identity and cookies; the limits are the scraper's, and the rest is the policy's. */
export type OpenClient = (
  who: Pick<
    HttpClientDeps,
    'identity' | 'exits' | 'signal' | 'tools' | 'sleep' | 'cookies' | 'requests' | 'startsOver'
  >,
  context: Pick<ScrapeContext, 'policy' | 'now' | 'draft' | 'usage' | 'proxyType'>,
) => HttpClient;

/** For the visitors of one scraper. */
export function clientOpener(rules: Pick<HttpClientDeps, 'limits' | 'signs' | 'allowsHost'>): OpenClient {
  return (who, context) => {
    const { policy } = context;
    return new HttpClient({
      ...{ ...who, ...rules },
      now: () => context.now(),
      draft: () => context.draft(),
      timeouts: policy.timeouts,
      usage: context.usage.through(context.proxyType),
      maxRetryAfterMs: policy.retries.max_retry_after_seconds * 1000,
      maxRetries: policy.retries.max_retries,
      isAdaptive: policy.throttling.adaptive,
      robots: policy.robots === 'respect' ? who.tools.robots : null,
    });
  };
}
