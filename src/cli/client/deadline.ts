import type { Clock } from '../../main/client.ts';

/** Nothing was heard for as long as one waits. */
export class TimedOut extends Error {
  constructor(ms: number) {
    super(`no answer within ${Math.round(ms / 1000)} s`);
    this.name = 'TimedOut';
  }
}

export interface Deadline {
  /** Aborts with the parent, or with TimedOut. */
  readonly signal: AbortSignal;
  /** Something was heard: the time begins again. */
  touch(): void;
  /** It is not the other side that is waited for: there is no limit until the next touch. */
  hold(): void;
  close(): void;
}

/** Aborts when nothing has happened for `ms`. Touching it is cheap: one timer runs at most, whatever is touched. */
export function openDeadline(clock: Pick<Clock, 'elapsed' | 'sleep'>, ms: number, parent: AbortSignal): Deadline {
  const expired = new AbortController();
  const closed = new AbortController();
  let touchedAt = clock.elapsed();
  let isHeld = false;
  const watch = async () => {
    while (!closed.signal.aborted) {
      const left = isHeld ? ms : touchedAt + ms - clock.elapsed();
      if (left <= 0) {
        expired.abort(new TimedOut(ms));
        return;
      }
      await clock.sleep(left, closed.signal);
    }
  };
  void watch();
  return {
    signal: AbortSignal.any([parent, expired.signal]),
    touch() {
      touchedAt = clock.elapsed();
      isHeld = false;
    },
    hold() {
      isHeld = true;
    },
    close: () => closed.abort(),
  };
}
