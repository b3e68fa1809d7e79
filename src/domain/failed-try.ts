import { type Failure, type FailureType, isRetryable } from './failure.ts';

/** A try within an attempt that failed, as the item's history tells it. */
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

/** A failed try with all that is known of its failure. */
export interface SeenTry extends Pick<FailedTry, 'number' | 'at' | 'waitMs'> {
  readonly failure: Failure;
}

/** Listed per attempt: with their messages, about as much as one failure may take. */
export const MAX_FAILED_TRIES = 8;
export const MAX_TRY_MESSAGE_LENGTH = 160;

/**
 * The tries as the ledger keeps them: the last ones, their messages cut short. None of an attempt that ended with its
 * first try: its failure, if it has one, says the same.
 */
export function listFailedTries(seen: readonly SeenTry[], tries: number): { readonly failedTries?: FailedTry[] } {
  if (tries <= 1 || seen.length === 0) return {};
  const failedTries = seen.slice(-MAX_FAILED_TRIES).map(({ number, failure: { type, message }, at, waitMs }) => {
    return { number, type, message: cutShort(message), at, waitMs };
  });
  return { failedTries };
}

/** How much a failure tells about its item. */
type Telling =
  | 'decided' // another try would end the same way: it is the last one, and the answer
  | 'fault' // of the item, the scraper or the way through the site: not a passing one, although it is tried again
  | 'said' // the site says that it does not serve us, which an error without words beside it does not contradict
  | 'passing'; // of the site, the network or the proxy at that moment: it may hit any item

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
 * The type that names the failure of an item, from those of its failed tries in their order: what tells most, then what
 * was seen most often, then what was seen last. The last try alone would not do: a session that is lost every time is not
 * a problem of load because the fourth try happens to meet a 503.
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
 * What the site did last, where an attempt failed. The throttle goes by it, and not by what names the failure: a host that
 * refuses us must be asked less often, whatever else is wrong with the item.
 */
export function lastFailureType(failure: Failure, failedTries: readonly FailedTry[] = []): FailureType {
  return failedTries.at(-1)?.type ?? failure.type;
}

/** Half a character would not come back from a database as it was written. */
function cutShort(message: string): string {
  if (message.length <= MAX_TRY_MESSAGE_LENGTH) return message;
  return `${message.slice(0, MAX_TRY_MESSAGE_LENGTH - 1)}…`.toWellFormed();
}
