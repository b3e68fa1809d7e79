import type { ClientClock } from './client-clock.ts';

/** The other side was silent for too long. */
export class TimedOut extends Error {
  constructor(ms: number) {
    super(`no answer within ${Math.round(ms / 1000)} s`);
    this.name = 'TimedOut';
  }
}

export interface Deadline {
  /** Aborts with the parent, or with TimedOut. */
  readonly signal: AbortSignal;
  /** Call it when something arrives: the time starts again. */
  touch(): void;
  /** Suspends the limit until the next touch: we are not waiting for the other side. */
  hold(): void;
  close(): void;
}

/** Aborts when nothing has arrived for `ms`. Touching it is cheap: there is never more than one timer. */
export function openDeadline(clock: Pick<ClientClock, 'elapsed' | 'sleep'>, ms: number, parent: AbortSignal): Deadline {
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
