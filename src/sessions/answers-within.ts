import type { Browser } from 'playwright-core';
import type { Clock } from '../ports/clock.ts';
import { within } from '../ports/within.ts';

/** Whether a browser answers a question that only it can answer. A stopped or overloaded one does not. */
export async function answersWithin(browser: Browser, ms: number, clock: Pick<Clock, 'sleep'>): Promise<boolean> {
  if (!browser.isConnected()) return false;
  const answered = ask(browser).catch(() => false);
  return await within(clock, ms, answered, () => false);
}

async function ask(browser: Browser): Promise<boolean> {
  const session = await browser.newBrowserCDPSession();
  try {
    await session.send('Browser.getVersion');
    return true;
  } finally {
    await session.detach();
  }
}
