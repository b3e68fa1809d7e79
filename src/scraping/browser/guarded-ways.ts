import type { BrowserContextOptions } from 'playwright-core';
import type { BrowserEgress, BrowserWay } from '../../egress/browser/browser-egress.ts';
import type { Refusal } from '../../egress/browser/browser-visit.ts';
import { heldBack } from '../http/held-back.ts';
import { ScrapeFailure } from '../scrape-failure.ts';
import type { BrowserWays, ContextWay } from './context-way.ts';
import { disguiseFor } from './disguise-for.ts';

/** Pages go out by the egress, under its rules. */
export function guardedWays(egress: Pick<BrowserEgress, 'open'>, browser: 'local' | 'remote'): BrowserWays {
  return {
    async open(visit, policy, options) {
      const disguise = await disguiseFor(policy.browser, visit.exit);
      return guardedWay(await egress.open(visit, { block: policy.browser.block, browser, disguise }), options);
    },
  };
}

function guardedWay(way: BrowserWay, options: BrowserContextOptions): ContextWay {
  return {
    options: { ...options, ...way.contextOptions },
    async prepare(context) {
      for (const content of way.initScripts) await context.addInitScript({ content });
    },
    async guard(page, isPopup) {
      const session = await page.context().newCDPSession(page);
      const { mainFrame } = await way.attach(session, ...(isPopup ? [page.url()] : []));
      return { session, mainFrame };
    },
    refusal: () => {
      const refusal = way.refusal();
      return refusal === null ? null : errorFor(refusal);
    },
    get exceeded() {
      return way.exceeded;
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
