import { DIRECT } from '../egress/direct-dialer.ts';
import type { Exit } from '../egress/web.ts';
import type { ScrapeContext } from './scraper.ts';

type WayOut = Pick<ScrapeContext, 'jobId' | 'itemId' | 'policy' | 'proxyType' | 'proxySession'>;

/**
 * How a try goes out, for every kind of scraper: by the dialer of its kind of proxy, in a session that belongs to this
 * item and changes when the attempt decides so. The answer is asked for each request: with `rotate` every one has a session
 * of its own, otherwise they all have the same.
 */
export function exitsFor(context: WayOut): () => Exit {
  const { jobId, itemId, policy, proxySession } = context;
  const exit = exitIn(context, `${jobId}/${itemId}/${proxySession}`);
  if (policy.proxy.session === 'sticky' || exit.dialer === DIRECT) return () => exit;
  let requests = 0;
  return () => {
    requests += 1;
    return { ...exit, session: `${exit.session}/${requests}` };
  };
}

/** The same way out in a session of another name. */
export function exitIn({ policy, proxyType }: Pick<WayOut, 'policy' | 'proxyType'>, session: string): Exit {
  if (proxyType === 'none') return { dialer: DIRECT, session };
  const { geo_target: geo } = policy.proxy;
  return { dialer: proxyType, session, ...(geo === null ? {} : { geo }) };
}
