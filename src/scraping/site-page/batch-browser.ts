import type { Policy } from '../../domain/policy.ts';
import type { BatchScope } from '../batch-scope.ts';
import { type BrowserCompanion, type BrowserWish, continueIn, openCompanion } from '../browser/browser-companion.ts';
import type { BrowserVisit } from '../browser/browser-visit.ts';

const BROWSER = Symbol('browser');

/**
 * The browser context of a batch: opened for the first page that needs one, kept for the next ones as long as it works,
 * and closed with the batch.
 */
export class BatchBrowser {
  #visit: BrowserVisit | null = null;

  static of(batch: BatchScope): BatchBrowser {
    return batch.keep(BROWSER, () => {
      const browser = new BatchBrowser();
      batch.onEnd(() => browser.#close());
      return browser;
    });
  }

  async accompany(wish: BrowserWish): Promise<BrowserCompanion> {
    const kept = this.#visit;
    this.#visit = null;
    const isUsable = kept !== null && !kept.isGone;
    if (kept !== null && !isUsable) await kept.close(false);
    const companion = isUsable ? await continueIn(kept, wish) : await openCompanion(wish);
    const { visit } = companion;
    return {
      ...companion,
      // They are read later, and change until then.
      get lastPage() {
        return companion.lastPage;
      },
      get isUnauthorized() {
        return companion.isUnauthorized;
      },
      get hasGoodAnswer() {
        return companion.hasGoodAnswer;
      },
      close: async (isGood) => {
        if (wish.signal.aborted || visit.isGone || !(isGood || (await visit.isHealthy()))) return visit.close(isGood);
        this.#visit = visit;
        return null;
      },
    };
  }

  async #close(): Promise<void> {
    await this.#visit?.close(true);
    this.#visit = null;
  }
}

/** The policy of a job whose browsers identify themselves as us. */
export function withUserAgent(policy: Policy, userAgent: string): Policy {
  const { browser } = policy;
  if (browser.device !== null) return policy;
  return { ...policy, browser: { ...browser, stealth: false, device: { user_agent: userAgent } } };
}
