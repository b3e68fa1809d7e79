import type { Lane } from '../domain/lane.ts';
import type { Room } from '../domain/slot-share.ts';

/** Names a batch. All that a message holds. */
export interface BatchRef {
  readonly jobId: string;
  readonly batchId: string;
  readonly lane: Lane;
}

export interface Delivery {
  readonly ref: BatchRef;
  /** Names this delivery, not the message: another delivery of the same message has another one. */
  readonly receipt: string;
}

export interface LaneDepth {
  readonly lane: Lane;
  readonly waiting: number;
  readonly delivered: number;
}

/** What a receiver has room for, for as long as it waits. */
export interface ReceiverRoom {
  now(): Room;
  /** Calls `listener` whenever there may be more room than before. Answers how to end that. */
  onMore(listener: () => void): () => void;
}

/**
 * Carries hints to workers, never truth: a message may be lost, doubled, late or out of order, and the ledger must be
 * asked before working on one.
 */
export interface WorkQueue {
  /** Sends each, or says which ones were not taken. What is not named in `refused` was taken. */
  send(refs: readonly BatchRef[]): Promise<{ readonly refused: readonly BatchRef[] }>;
  /**
   * Waits for at least one message that there is room for, for as long as it takes; resolves to [] when `signal` aborts.
   * What is delivered is hidden from other receivers for `hideMs`, then it is delivered again unless it was acknowledged.
   *
   * Jobs take turns: a job of one message does not wait until a job of thousands has been delivered. A message that there
   * is no room for, because its job has its share of this receiver already, is left to others, and delivered as soon as
   * the room says that there is more. A queue that cannot choose may keep it from others for a few seconds.
   */
  receive(lane: Lane, room: ReceiverRoom, hideMs: number, signal: AbortSignal): Promise<readonly Delivery[]>;
  /** Hides deliveries for `hideMs` from now. Receipts that are no longer good are passed over. */
  extend(receipts: readonly string[], hideMs: number): Promise<void>;
  /** The message is done with. Receipts that are no longer good are passed over: another delivery may still be out. */
  ack(receipts: readonly string[]): Promise<void>;
  /** Gives deliveries back at once. Receipts that are no longer good are passed over. */
  giveBack(receipts: readonly string[]): Promise<void>;
  depth(): Promise<readonly LaneDepth[]>;
}

/** The receiving end: what a worker needs of it. */
export type WorkerQueue = Pick<WorkQueue, 'receive' | 'extend' | 'ack' | 'giveBack'>;

/**
 * Messages that were delivered again and again and never acknowledged. The queue has set them aside, and delivers them to
 * no worker any more. A queue that sets nothing aside has none.
 */
export interface DeadLetters {
  /**
   * Some of those that are there, at most `max`; does not wait for any, and [] does not mean that there are none. They
   * are hidden from others who ask for a minute or so, then they are there again unless they were forgotten.
   */
  takeDead(lane: Lane, max: number): Promise<readonly Delivery[]>;
  /** They are done with. Receipts that are no longer good are passed over. */
  forgetDead(receipts: readonly string[]): Promise<void>;
}
