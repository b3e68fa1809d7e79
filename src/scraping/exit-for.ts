import { DIRECT } from '../egress/direct-dialer.ts';
import type { Exit } from '../egress/web.ts';
import type { ScrapeContext } from './scraper.ts';

/**
 * How a try goes out, for every kind of scraper: by the dialer that its policy asks for, in a session that belongs to this
 * item and changes when the attempt decides so.
 */
export function exitFor(context: Pick<ScrapeContext, 'jobId' | 'itemId' | 'policy' | 'proxySession'>): Exit {
  const { jobId, itemId, policy, proxySession } = context;
  const { type } = policy.proxy;
  return { dialer: type === 'none' ? DIRECT : type, session: `${jobId}/${itemId}/${proxySession}` };
}
