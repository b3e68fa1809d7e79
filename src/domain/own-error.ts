import { backoffMs } from './backoff.ts';
import { type Failure, failure } from './failure.ts';

/**
 * What happens after an error of our own: something thrown while an item was processed, and caused neither by the
 * scraper nor by the storage. The item goes back uncharged, because it did nothing wrong, and after a pause, because
 * the same would happen at once. An item that causes it every time must not circulate forever: it fails, with the error
 * as its reason.
 */
export type AfterOwnError = { readonly kind: 'give-back'; readonly delayMs: number } | { readonly kind: 'fail' };

/** Enough to outlast a hiccup: with the pauses in between, a quarter of a minute. */
export const MAX_OWN_ERRORS = 5;

const FIRST_DELAY_MS = 1000;

/** `errors`: how many there were on this item, including this one. */
export function afterOwnError(errors: number): AfterOwnError {
  if (errors >= MAX_OWN_ERRORS) return { kind: 'fail' };
  return { kind: 'give-back', delayMs: backoffMs(errors - 1, FIRST_DELAY_MS) };
}

/** It is part of the ledger's event about a returned batch: a line in a log, not a stack trace. */
export const MAX_OWN_ERROR_LENGTH = 500;

export function describeOwnError(error: unknown): string {
  const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return text.replaceAll(/\s+/g, ' ').slice(0, MAX_OWN_ERROR_LENGTH);
}

export function ownErrorFailure(error: unknown): Failure {
  return failure('unexpected', `error in Trawl, not in the scraper: ${describeOwnError(error)}`, { cause: error });
}
