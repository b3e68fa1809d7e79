import type { Clock } from '../ports/clock.ts';
import type { Faults } from '../ports/faults.ts';
import type { WorkerLeases } from '../ports/ledger.ts';
import type { WorkerQueue } from '../ports/work-queue.ts';
import type { WorkSource } from '../ports/work-source.ts';

interface ReceiveAndClaimDeps {
  readonly id: string;
  readonly queue: Pick<WorkerQueue, 'receive' | 'giveBack' | 'extend'>;
  readonly leases: Pick<WorkerLeases, 'claim'>;
  readonly clock: Clock;
  readonly faults: Faults;
  readonly onError: (where: string, error: unknown) => void;
}

/** Work for a worker that accesses queue and ledger itself. */
export function receiveAndClaim(deps: ReceiveAndClaimDeps): WorkSource {
  const { id, queue, leases, clock, faults, onError } = deps;
  return {
    async take(lane, room, leaseMs, signal) {
      const hideMs = Math.min(leaseMs, CLAIMED_WITHIN_MS);
      const deliveries = await queue.receive(lane, room, hideMs, signal);
      if (deliveries.length === 0) return [];
      await faults.at('after-receive-before-claim');
      if (signal.aborted) {
        await queue.giveBack(deliveries.map(({ receipt }) => receipt));
        return [];
      }
      const now = clock.now();
      const refs = deliveries.map(({ ref }) => ref);
      try {
        const answers = await leases.claim(refs, id, now + leaseMs, now);
        const busy = deliveries.filter((_, index) => answers[index] !== 'gone').map(({ receipt }) => receipt);
        // Neither an error nor a wait is worthwhile: the ledger refuses a message that comes again too early.
        if (hideMs < leaseMs && busy.length > 0) queue.extend(busy, leaseMs).catch(() => {});
        return deliveries.flatMap((delivery, index) => {
          const answer = answers[index];
          return answer === undefined ? [] : [{ delivery, answer }];
        });
      } catch (error) {
        // The messages come again when their time is over; a pause keeps us from asking a failing ledger all the time.
        onError('claim', error);
        await clock.sleep(leaseMs / 4, signal);
        return [];
      }
    },
  };
}

/**
 * Messages are hidden only this long until their batch is claimed: a worker that died while waiting may still receive
 * one, and others should not have to wait a whole lease for it.
 */
const CLAIMED_WITHIN_MS = 30_000;
