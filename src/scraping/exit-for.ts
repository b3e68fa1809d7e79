import { DIRECT } from '../egress/direct-dialer.ts';
import type { Exit } from '../egress/web.ts';
import type { ScrapeContext } from './scraper.ts';

type WayOut = Pick<ScrapeContext, 'jobId' | 'itemId' | 'policy' | 'proxyType' | 'proxySession'>;

/**
 * The way out of a try, for every kind of scraper: the dialer of its kind of proxy, in a session that belongs to this
 * item and changes when the attempt decides so. Called for each request: with `rotate` every request has its own
 * session, otherwise they share one.
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

/** The same way out in a session with another name. */
export function exitIn({ policy, proxyType }: Pick<WayOut, 'policy' | 'proxyType'>, session: string): Exit {
  if (proxyType === 'none') return { dialer: DIRECT, session };
  const { geo_target: geo } = policy.proxy;
  return { dialer: proxyType, session, ...(geo === null ? {} : { geo }) };
}
