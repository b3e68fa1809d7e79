/** Failures of a page of a site, across all jobs: a page that keeps failing is left alone for a day. */

const ERROR_THRESHOLD = 3;
export const ERROR_EXPIRY_MS = 86_400_000;
const MAX_ERROR_LENGTH = 200;

export interface PagePath {
  readonly site: string;
  /** Includes the query. */
  readonly path: string;
}

export interface PathErrors extends PagePath {
  /** Failures since the last success. */
  readonly count: number;
  readonly lastError: string;
  readonly failedAt: number;
}

/** News about a page: it failed, or its failures are forgotten because it succeeded or must be tried. */
export type PathNews =
  | { readonly kind: 'failed'; readonly page: PagePath; readonly error: string; readonly at: number }
  | { readonly kind: 'cleared'; readonly page: PagePath };

/**
 * Failures that did not reach the threshold within a day are forgotten. A page that reached it is tried once a day: one
 * more failure leaves it alone for another day.
 */
export function afterPathNews(known: PathErrors | null, news: PathNews): PathErrors | null {
  if (news.kind === 'cleared') return null;
  const { page, error, at } = news;
  const counts = known !== null && (known.count >= ERROR_THRESHOLD || at - known.failedAt < ERROR_EXPIRY_MS);
  return {
    site: page.site,
    path: page.path,
    count: (counts ? known.count : 0) + 1,
    lastError: error.slice(0, MAX_ERROR_LENGTH).toWellFormed(),
    failedAt: Math.max(at, counts ? known.failedAt : 0),
  };
}

/** Whether the page should not be requested now. */
export function isKnownBad(errors: PathErrors | null, now: number): boolean {
  return errors !== null && errors.count >= ERROR_THRESHOLD && now - errors.failedAt < ERROR_EXPIRY_MS;
}

/** When it will be tried again; null if it is not being left alone. */
export function skippedUntil(errors: PathErrors, now: number): number | null {
  return isKnownBad(errors, now) ? errors.failedAt + ERROR_EXPIRY_MS : null;
}
