import { type Failure, failure } from '../domain/failure.ts';
import { ScrapeFailure } from './scrape-failure.ts';
import { withoutEdit } from './scraper-modules.ts';

/** Whatever was thrown, as an entry of the failure table: its own if it is one, and `unexpected` for a bug. */
export function thrownFailure(error: unknown): Failure {
  if (error instanceof ScrapeFailure) return error.failure;
  const message = error instanceof Error ? `${error.message}${placeOf(error)}` : String(error);
  return failure('unexpected', message, { cause: error });
}

const OWN_SOURCES = new URL('..', import.meta.url).href;

/** ` (county.ts:17)`: the line of the scraper that was running when it failed, if the error shows it. */
function placeOf({ stack = '' }: Error): string {
  for (const [, file = '', line] of stack.matchAll(/(file:\/\/[^\s()]+):(\d+):\d+/g)) {
    if (file.startsWith(OWN_SOURCES) || file.includes('/node_modules/')) continue;
    return ` (${withoutEdit(file.slice(file.lastIndexOf('/') + 1))}:${line})`;
  }
  return '';
}
