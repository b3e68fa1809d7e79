import type { Clock } from '../ports/clock.ts';
import type { Faults } from '../ports/faults.ts';
import type { Ledger } from '../ports/ledger.ts';
import type { EventStream } from './events.ts';

/**
 * Brings back what was lost: leases whose worker fell silent, and batches whose message never arrived. It takes whatever
 * is overdue, oldest first over all jobs, in bounded steps.
 *
 * It does not trust leases after a time in which nobody could have renewed them: when it was itself asleep (a stopped
 * process, a suspended machine) or the storage took no writes, workers get one lease's time to be heard first.
 */
export class Reaper {
  readonly #parts: ReaperParts;
  #lastRunAt: number | null = null;
  #graceUntil = 0;

  constructor(parts: ReaperParts) {
    this.#parts = parts;
  }

  /** Workers could not be heard until now. */
  giveGrace(): void {
    this.#graceUntil = this.#parts.clock.elapsed() + this.#parts.leaseMs;
  }

  async runOnce(): Promise<{ leases: number; queued: number }> {
    const { clock, ledger, faults, events } = this.#parts;
    const sum = { leases: 0, queued: 0 };
    // Half a lease is enough to worry, for leases are not all fresh. Also noticed while another one leads: whoever slept
    // may lead again before it has heard anybody.
    const wasAsleep = this.#lastRunAt !== null && clock.elapsed() - this.#lastRunAt > this.#parts.leaseMs / 2;
    this.#lastRunAt = clock.elapsed();
    if (wasAsleep) this.giveGrace();
    if (!this.#parts.mayWork() || clock.elapsed() < this.#graceUntil) return sum;

    for (;;) {
      const now = clock.now();
      const step = await ledger.expire(now, now - this.#parts.lostAfterMs, BATCHES_PER_STEP);
      sum.leases += step.leases;
      sum.queued += step.queued;
      await faults.at('after-expire');
      if (step.leases + step.queued < BATCHES_PER_STEP || !this.#parts.mayWork()) break;
    }
    if (sum.leases + sum.queued > 0) events.publish({ kind: 'reaped', ...sum });
    return sum;
  }
}

/** Few enough that one step does not hold up the settles that wait behind it. */
const BATCHES_PER_STEP = 200;

export interface ReaperParts {
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly faults: Faults;
  readonly events: EventStream;
  readonly leaseMs: number;
  /** A batch that has been queued for longer has lost its message. */
  readonly lostAfterMs: number;
  readonly mayWork: () => boolean;
}
