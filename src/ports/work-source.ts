import type { Lane } from '../domain/lane.ts';
import type { ClaimAnswer } from './ledger.ts';
import type { Delivery, ReceiverRoom } from './work-queue.ts';

/**
 * Where a worker gets its work: the next messages of the queue, and for each what the ledger says to a claim of the batch
 * that it names. It is `receive` and `claim` in one, because for a worker in another process than both that is one way
 * there and back instead of two, for every item.
 */
export interface WorkSource {
  /**
   * Waits for at least one message that there is room for, for as long as it takes; resolves to [] when `signal` aborts.
   * Batches are claimed for `leaseMs`, and their messages hidden for as long. What was claimed and could not be handed
   * over is given back, or runs out.
   */
  take(lane: Lane, room: ReceiverRoom, leaseMs: number, signal: AbortSignal): Promise<readonly Taken[]>;
}

export interface Taken {
  readonly delivery: Delivery;
  readonly answer: ClaimAnswer;
}
