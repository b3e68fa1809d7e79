import type { Page } from 'playwright-core';
import { failure } from '../../domain/failure.ts';
import { explainAbsence } from '../page/explain-absence.ts';
import { pageFingerprint } from '../page/page-fingerprint.ts';
import { ScrapeFailure } from '../scrape-failure.ts';
import { isClosedError, translatePlaywright } from './playwright-failure.ts';
import type { TabDeps } from './tab-deps.ts';
import { NothingCame } from './waits.ts';

/** A page that is still busy may yet show the element: then it was slow, not changed. */
const SETTLED_MS = 1000;
const LOOK_MS = 3000;

/**
 * The failure for an error of Playwright. If something did not appear, the page is examined: what it says is the better
 * answer, and if it is still loading, the site was too slow. Other errors are returned unchanged.
 */
export async function explainError(
  error: unknown,
  page: Page,
  deps: Pick<TabDeps, 'isGone' | 'isHealthy' | 'watch' | 'way' | 'deadline' | 'signs'>,
): Promise<unknown> {
  if (error instanceof ScrapeFailure && !(error instanceof NothingCame)) return error;
  const { watch, way, deadline, signs } = deps;
  const isCrashed = watch.isCrashed(page);
  // A call may fail some moments before it is known that the browser has ended.
  const isGone = deps.isGone() || (isClosedError(error) && !isCrashed && !(await deps.isHealthy()));
  const found =
    error instanceof NothingCame
      ? { failure: error.failure, isAbsence: true }
      : translatePlaywright(error, { isGone, isCrashed });
  if (found === null) return error;
  const refusal = isGone || isCrashed ? null : way.refusal();
  if (refusal !== null) return refusal;
  if (!found.isAbsence || isGone || isCrashed) return new ScrapeFailure(found.failure);
  const body = await deadline.within(LOOK_MS, page.content(), 'reading the page').catch(() => null);
  if (body === null) {
    watch.noteHanging(page);
    const { message: said, cause: why } = found.failure;
    return new ScrapeFailure(failure('timeout', `the page does not answer, and ${said}`, { cause: why }));
  }
  const { message, cause } = found.failure;
  const seen = { cause, page: pageFingerprint(body) };
  const explained = explainAbsence(body, signs, { kind: 'as-asked' });
  if (explained !== null) {
    return new ScrapeFailure(failure(explained.type, `${explained.said}, and ${message} (${page.url()})`, seen));
  }
  const isSettled = await page.waitForLoadState('networkidle', { timeout: SETTLED_MS }).then(
    () => true,
    () => false,
  );
  const type = isSettled ? found.failure.type : 'timeout';
  return new ScrapeFailure(failure(type, `${message} (${page.url()})`, seen));
}
