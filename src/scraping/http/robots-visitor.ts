import type { Deadlines, Exit, HostUsage } from '../../egress/web.ts';
import type { RobotsVisitor } from '../robots/fetch-robots.ts';
import type { Identity } from './identity.ts';
import { headersFor } from './request-headers.ts';

/** A visitor of a site reads its robots.txt with these limits: the file is small, whatever is requested afterwards. */
export function robotsVisitor(
  { identity, exits, usage }: { readonly identity: Identity; readonly exits: () => Exit; readonly usage: HostUsage },
  deadlines: Deadlines,
): RobotsVisitor {
  const wanted = { method: 'GET', purpose: 'page', from: null, contentType: null, extra: {} } as const;
  return {
    exit: exits(),
    usage,
    deadlines: { ...deadlines, totalMs: deadlines.firstByteMs },
    headersFor: (url) => headersFor(identity, { url, ...wanted }),
  };
}
