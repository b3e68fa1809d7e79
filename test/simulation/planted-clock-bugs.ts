import { dueBy } from '../support/due-by.ts';
import { MemoryLeaseBook } from '../support/memory/lease-book.ts';
import type { ControllerPorts } from './plant.ts';

/** Mistakes that show when the wall clock is set. */

/** Leases are judged by the wall clock as it is, however it came to be so. */
export function reapsByTheWallClock({ ledger, leadership, clock }: ControllerPorts): Partial<ControllerPorts> {
  let aheadMs = clock.now() - clock.elapsed();
  return {
    leadership: {
      ...leadership,
      async lead(holder, until, now) {
        const askedAt = clock.elapsed();
        const leads = await leadership.lead(holder, until, now);
        // It does not do so after an answer that was slow to arrive: that would be another mistake.
        const isFresh = clock.elapsed() - askedAt < 1000;
        const isSet = clock.now() - clock.elapsed() !== aheadMs;
        aheadMs = clock.now() - clock.elapsed();
        if (leads && isFresh && isSet)
          await ledger.expire(dueBy(clock.now(), Number.MIN_SAFE_INTEGER), 200).catch(() => {});
        return leads;
      },
    },
  };
}

/** A lease is believed to last for as long as it says, though the clock that said so has been set back. */
export class BelievingLeases extends MemoryLeaseBook {
  override clampTimes(): Promise<number> {
    return Promise.resolve(0);
  }
}
