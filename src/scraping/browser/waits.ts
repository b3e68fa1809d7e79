import type { Page } from 'playwright-core';
import { failure } from '../../domain/failure.ts';
import { fail, ScrapeFailure } from '../scrape-failure.ts';

/** What to wait for in a page. */
export type Awaited =
  /** `state`: `attached` is in the page, `visible` can be seen (the default), `hidden` can no longer be. */
  | { readonly element: string; readonly state?: 'attached' | 'visible' | 'hidden' }
  | { readonly text: string | RegExp }
  | { readonly url: string | RegExp }
  /** No request for half a second. Prefer what the page shows: some pages never stop sending requests. */
  | { readonly idle: true }
  /** JavaScript that is run in the page until it returns something true. */
  | { readonly function: string };

export interface WaitOptions {
  readonly timeoutSeconds: number;
}

/** Returns the index of the first one. Rejects if none applies in time. */
export async function waitForAny(page: Page, wanted: readonly Awaited[], timeout: number): Promise<number> {
  if (wanted.length === 0) return fail('unexpected', 'waitFor needs something to wait for');
  const waits = wanted.map((each, index) => waitFor(page, each, timeout).then(() => index));
  try {
    return await Promise.any(waits);
  } catch (error) {
    const [first] = error instanceof AggregateError ? error.errors : [error];
    if (wanted.length === 1) throw first;
    if (first instanceof Error && first.name !== 'TimeoutError') throw first;
    const list = wanted.map(describe).join(', ');
    throw new NothingCame(`none of ${list} came within ${timeout / 1000} s`);
  }
}

/** Several things were waited for. It is explained by what the page says, as one of them would be. */
export class NothingCame extends ScrapeFailure {
  constructor(message: string) {
    super(failure('structure_changed', message));
  }
}

async function waitFor(page: Page, wanted: Awaited, timeout: number): Promise<void> {
  if ('element' in wanted) {
    await page
      .locator(wanted.element)
      .first()
      .waitFor({ state: wanted.state ?? 'visible', timeout });
  } else if ('text' in wanted) {
    await page.getByText(wanted.text).first().waitFor({ state: 'visible', timeout });
  } else if ('url' in wanted) {
    await page.waitForURL(wanted.url, { timeout, waitUntil: 'commit' });
  } else if ('idle' in wanted) {
    await page.waitForLoadState('networkidle', { timeout });
  } else {
    await page.waitForFunction(wanted.function, undefined, { timeout });
  }
}

function describe(wanted: Awaited): string {
  if ('element' in wanted) return wanted.element;
  if ('text' in wanted) return `the text ${String(wanted.text)}`;
  if ('url' in wanted) return `the address ${String(wanted.url)}`;
  return 'idle' in wanted ? 'an idle network' : 'the condition';
}
