import { latest } from '../../domain/due.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Faults } from '../../ports/faults.ts';
import type { DueTimes, LatestTimes, Ledger } from '../../ports/ledger.ts';
import type { EventStream } from './events.ts';

/**
 * Brings back what was lost: leases whose worker went silent, and batches whose message never arrived. It takes whatever
 * is overdue, oldest first over all jobs, in bounded steps.
 *
 * It does not trust leases after a time in which they could not have been renewed: when it was itself asleep (a stopped
 * process, a suspended machine), the storage could not be written, or the wall clock was set, workers get the length of
 * one lease to report first. A clock that is set forward makes every lease look overdue at once, and the items in flight
 * would get a strike for it. One that is set back makes leases of dead workers last as long as it was set back: times too
 * far ahead are corrected from time to time, on all backends also for the sake of workers whose own clock is ahead.
 */
export class Reaper {
  readonly #deps: ReaperDeps;
  #lookedAt: number | null = null;
  #graceUntil = 0;
  #clampAt = 0;
  /** How far the wall clock was ahead of the monotonic one when leases were last given grace for it. */
  #aheadMs: number | null = null;

  constructor(deps: ReaperDeps) {
    this.#deps = deps;
  }

  /** Workers could not report until now. */
  giveGrace(): void {
    this.#graceUntil = this.#deps.clock.elapsed() + this.#deps.leaseMs;
  }

  async runOnce(): Promise<{ leases: number; queued: number }> {
    const { clock, ledger, faults, events } = this.#deps;
    const sum = { leases: 0, queued: 0 };
    if (this.#readClock() !== null && clock.elapsed() >= this.#clampAt) {
      await ledger.clampTimes(() => this.#readLatest());
      this.#clampAt = clock.elapsed() + this.#deps.leaseMs;
    }
    while (this.#readClock() !== null) {
      const step = await ledger.expire(() => this.#readTimes(), BATCHES_PER_STEP);
      sum.leases += step.leases;
      sum.queued += step.queued;
      await faults.at('after-expire');
      if (step.leases + step.queued < BATCHES_PER_STEP) break;
    }
    if (sum.leases + sum.queued > 0) events.publish({ kind: 'reaped', ...sum });
    return sum;
  }

  #readTimes(): DueTimes | null {
    const now = this.#readClock();
    return now === null ? null : { now, queuedBefore: now - this.#deps.lostAfterMs };
  }

  /** The time by which leases are judged; null while none may be. */
  #readClock(): number | null {
    const { clock, leaseMs, mayWork } = this.#deps;
    // Half a lease is enough to worry, because leases are not all fresh. This is noticed even while another controller
    // leads: one that slept may lead again before it has heard from any worker.
    const wasAsleep = this.#lookedAt !== null && clock.elapsed() - this.#lookedAt > leaseMs / 2;
    this.#lookedAt = clock.elapsed();
    if (wasAsleep) this.giveGrace();
    // In this order: if the clock is set in between, the time is still the old one, and the next look notices.
    const now = clock.now();
    const aheadMs = now - clock.elapsed();
    this.#aheadMs ??= aheadMs;
    // A step of less than half the heartbeat interval costs no lease, and small steps add up until they are noticed.
    if (Math.abs(aheadMs - this.#aheadMs) > leaseMs / 8) {
      this.#aheadMs = aheadMs;
      this.giveGrace();
    }
    return mayWork() && clock.elapsed() >= this.#graceUntil ? now : null;
  }

  #readLatest(): LatestTimes | null {
    const { leaseMs, lostAfterMs } = this.#deps;
    const now = this.#readClock();
    return now === null ? null : { until: latest(now, leaseMs), queuedAt: latest(now, lostAfterMs) - lostAfterMs };
  }
}

/** Few enough that one step does not delay waiting settles. */
const BATCHES_PER_STEP = 200;

interface ReaperDeps {
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly faults: Faults;
  readonly events: EventStream;
  readonly leaseMs: number;
  /** A batch queued for longer than this has lost its message. */
  readonly lostAfterMs: number;
  readonly mayWork: () => boolean;
}
