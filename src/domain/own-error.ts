import { backoffMs } from './backoff.ts';
import { type Failure, failure } from './failure.ts';

/**
 * What happens after an error of our own: something that was thrown while an item was carried out, and that is neither
 * the scraper's doing nor the storage's. The item goes back uncharged, because it did nothing wrong, and after a pause,
 * because the same would happen at once. One on which it happens every time must not go round for ever: it is failed,
 * with the error named.
 */
export type AfterOwnError = { readonly kind: 'give-back'; readonly delayMs: number } | { readonly kind: 'fail' };

/** Enough to outlast a hiccup: with the pauses between them, a quarter of a minute. */
export const MAX_OWN_ERRORS = 5;

const FIRST_DELAY_MS = 1000;

/** `errors`: how many there were on this item, this one included. */
export function afterOwnError(errors: number): AfterOwnError {
  if (errors >= MAX_OWN_ERRORS) return { kind: 'fail' };
  return { kind: 'give-back', delayMs: backoffMs(errors - 1, FIRST_DELAY_MS) };
}

/** Part of what a ledger tells about a batch that came back: a line in a log, not a stack. */
export const MAX_OWN_ERROR_LENGTH = 500;

export function describeOwnError(error: unknown): string {
  const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return text.replaceAll(/\s+/g, ' ').slice(0, MAX_OWN_ERROR_LENGTH);
}

export function ownErrorFailure(error: unknown): Failure {
  return failure('unexpected', `error in Trawl, not in the scraper: ${describeOwnError(error)}`, { cause: error });
}
