import type { Clock } from './clock.ts';

/**
 * What `work` comes to, or what `late` says after `ms`. The work is not ended by it: what it comes to later is lost, an
 * error too. It may be called when nobody waits any more, so `late` must have no effects.
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

/** An abort without a reason makes an exception with a stack trace, which is not read here. */
const ANSWERED = 'answered';
