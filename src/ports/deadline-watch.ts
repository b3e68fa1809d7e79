import type { Clock } from './clock.ts';

/** Something with a deadline that moves. */
export interface Watched {
  /** By `Clock.elapsed`; Infinity for none at the moment. */
  readonly dueAt: number;
  /** Called once it is due; it is no longer watched then. */
  expire(): void;
}

/**
 * One timer for many deadlines. A request has four of them, and an item one, and hardly any is ever reached: a timer for
 * each would cost more than the rest of our work on it. So moving a deadline to a later time does not touch the timer;
 * it fires for the old time, looks, and goes back to sleep.
 */
export class DeadlineWatch {
  readonly #clock: Clock;
  readonly #watched = new Set<Watched>();
  #wakeAt = Number.POSITIVE_INFINITY;
  #sleep = new AbortController();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(watched: Watched): void {
    this.#watched.add(watched);
    this.hasMoved(watched);
  }

  remove(watched: Watched): void {
    this.#watched.delete(watched);
  }

  /** Must be called when a deadline becomes earlier; later ones need no call. */
  hasMoved({ dueAt }: Watched): void {
    if (dueAt < this.#wakeAt) this.#sleepUntil(dueAt);
  }

  /** Forgets all of them and ends the timer, which would otherwise keep the process alive. */
  close(): void {
    this.#watched.clear();
    this.#sleep.abort(MOVED);
    this.#wakeAt = Number.POSITIVE_INFINITY;
  }

  #sleepUntil(wakeAt: number): void {
    this.#sleep.abort(MOVED);
    this.#wakeAt = wakeAt;
    const sleep = new AbortController();
    this.#sleep = sleep;
    void this.#clock.sleep(Math.max(0, wakeAt - this.#clock.elapsed()), sleep.signal).then(() => {
      if (!sleep.signal.aborted) this.#look();
    });
  }

  #look(): void {
    // Timers fire up to a millisecond early; that is not worth another one.
    const now = this.#clock.elapsed() + 1;
    this.#wakeAt = Number.POSITIVE_INFINITY;
    let next = Number.POSITIVE_INFINITY;
    const due: Watched[] = [];
    for (const watched of this.#watched) {
      if (watched.dueAt <= now) due.push(watched);
      else if (watched.dueAt < next) next = watched.dueAt;
    }
    if (next < this.#wakeAt) this.#sleepUntil(next);
    // Afterwards, because one that finds some time left comes back with a deadline that may be just as near.
    for (const watched of due) if (this.#watched.delete(watched)) watched.expire();
  }
}

/** An abort without a reason creates an exception with a stack trace, which would not be read here. */
const MOVED = 'the timer has moved';
