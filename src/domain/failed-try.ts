import { type Failure, type FailureType, isRetryable } from './failure.ts';

/** A failed try within an attempt, as the item's history shows it. */
export interface FailedTry {
  /** 1 for the first try of the attempt. */
  readonly number: number;
  readonly type: FailureType;
  readonly message: string;
  /** When it failed. */
  readonly at: number;
  /** Wait before the next try; null if there was none. */
  readonly waitMs: number | null;
}

/** A failed try with everything known about its failure. */
export interface SeenTry extends Pick<FailedTry, 'number' | 'at' | 'waitMs'> {
  readonly failure: Failure;
}

/** The number listed per attempt: with their messages, about as much text as one failure may have. */
export const MAX_FAILED_TRIES = 8;
export const MAX_TRY_MESSAGE_LENGTH = 160;

/**
 * The tries as the ledger stores them: the last ones, with shortened messages. Empty for an attempt that ended with its
 * first try: its failure, if any, says the same.
 */
export function listFailedTries(seen: readonly SeenTry[], tries: number): { readonly failedTries?: FailedTry[] } {
  if (tries <= 1 || seen.length === 0) return {};
  const failedTries = seen.slice(-MAX_FAILED_TRIES).map(({ number, failure: { type, message }, at, waitMs }) => {
    return { number, type, message: cutShort(message), at, waitMs };
  });
  return { failedTries };
}

/** How much a failure says about its item. */
type Telling =
  | 'decided' // another try would end the same way, so it is the last one and the answer
  | 'fault' // a fault of the item, the scraper or the navigation: it may be retried, but will not pass by itself
  | 'said' // the site says that it does not serve us, which an error without a message does not contradict
  | 'passing'; // a problem of the site, the network or the proxy at that moment, which may affect any item

const TELLING: readonly Telling[] = ['passing', 'said', 'fault', 'decided'];

const RETRIED: Partial<Record<FailureType, Telling>> = {
  navigation_failed: 'fault',
  unexpected: 'fault',
  maintenance: 'said',
  blocked: 'said',
};

export function tellingOf(type: FailureType): Telling {
  return isRetryable(type) ? (RETRIED[type] ?? 'passing') : 'decided';
}

/**
 * The type that names the failure of an item, from the types of its failed tries in order: the one that says most, then
 * the most frequent, then the last. The last try alone is not enough: a session that is lost every time is not a load
 * problem just because the fourth try happens to meet a 503.
 */
export function mostTelling(earlier: readonly FailureType[], last: FailureType): FailureType {
  const types = [...earlier, last];
  const weight = (type: FailureType) => {
    const seen = types.filter((other) => other === type).length;
    // There are fewer tries than that: the rank always decides first.
    return TELLING.indexOf(tellingOf(type)) * (types.length + 1) + seen;
  };
  return earlier.toReversed().reduce((best, type) => (weight(type) > weight(best) ? type : best), last);
}

/**
 * What the site did last in a failed attempt. The throttle uses this, not the type that names the failure: a host that
 * refuses us must be visited less often, whatever else is wrong with the item.
 */
export function lastFailureType(failure: Failure, failedTries: readonly FailedTry[] = []): FailureType {
  return failedTries.at(-1)?.type ?? failure.type;
}

/** A lone surrogate would not survive the database unchanged. */
function cutShort(message: string): string {
  if (message.length <= MAX_TRY_MESSAGE_LENGTH) return message;
  return `${message.slice(0, MAX_TRY_MESSAGE_LENGTH - 1)}…`.toWellFormed();
}
