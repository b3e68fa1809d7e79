import type { BrowserEgress, BrowserWay } from '../../egress/browser/browser-egress.ts';
import type { Refusal } from '../../egress/browser/browser-visit.ts';
import { heldBack } from '../http/held-back.ts';
import { ScrapeFailure } from '../scrape-failure.ts';
import type { BrowserWays, ContextWay } from './browser-tools.ts';

/** Pages go out by the egress, under its rules. */
export function guardedWays(egress: Pick<BrowserEgress, 'open'>, browser: 'local' | 'remote'): BrowserWays {
  return {
    async open(visit, { block }) {
      return guardedWay(await egress.open(visit, { block, browser }));
    },
  };
}

function guardedWay(way: BrowserWay): ContextWay {
  return {
    options: way.contextOptions,
    prepare: async () => {},
    async guard(page, isPopup) {
      const session = await page.context().newCDPSession(page);
      await way.attach(
        {
          send: (method, params) => session.send(method as 'Page.enable', params as never),
          on: (event, listener) => session.on(event as never, listener),
        },
        ...(isPopup ? [page.url()] : []),
      );
    },
    refusal: () => {
      const refusal = way.refusal();
      return refusal === null ? null : errorFor(refusal);
    },
    next: (visit) => way.next(visit),
    close: () => way.close(),
  };
}

function errorFor(refusal: Refusal): Error {
  if (refusal.kind === 'failed') return new ScrapeFailure(refusal.failure);
  const error = heldBack(refusal.error);
  return error instanceof Error ? error : new Error(String(error));
}
