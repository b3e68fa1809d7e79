import type { Clock } from './clock.ts';

/**
 * The result of `work`, or that of `late` after `ms`. The work is not cancelled: a result or error that arrives later is
 * dropped. `late` may be called when the answer is no longer awaited, so it must have no effects.
 */
export async function within<T, Late>(
  clock: Pick<Clock, 'sleep'>,
  ms: number,
  work: Promise<T>,
  late: () => Late,
): Promise<T | Late> {
  const answered = new AbortController();
  try {
    return await Promise.race([work, clock.sleep(ms, answered.signal).then(late)]);
  } finally {
    answered.abort(ANSWERED);
  }
}

/** An abort without a reason creates an exception with a stack trace, which would not be read here. */
const ANSWERED = 'answered';
