import type { Lane } from '../domain/lane.ts';
import type { ClaimAnswer } from './ledger.ts';
import type { Delivery, ReceiverRoom } from './work-queue.ts';

/**
 * Where a worker gets its work: the next messages of the queue, each with the ledger's answer to a claim of its batch.
 * It combines `receive` and `claim`, because for a worker in another process that is one round trip per item instead of
 * two.
 */
export interface WorkSource {
  /**
   * Waits as long as it takes for at least one message that there is room for; resolves to [] when `signal` aborts.
   * Batches are claimed for `leaseMs`, and their messages are hidden for as long. A claimed batch that could not be handed
   * over is returned, or its lease expires.
   */
  take(lane: Lane, room: ReceiverRoom, leaseMs: number, signal: AbortSignal): Promise<readonly Taken[]>;
}

export interface Taken {
  readonly delivery: Delivery;
  readonly answer: ClaimAnswer;
}
