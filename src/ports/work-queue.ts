import type { Lane } from '../domain/lane.ts';
import type { Room } from '../domain/slot-share.ts';

/** Names a batch. A message contains nothing else. */
export interface BatchRef {
  readonly jobId: string;
  readonly batchId: string;
  readonly lane: Lane;
}

export interface Delivery {
  readonly ref: BatchRef;
  /** Names this delivery, not the message: each delivery of the same message has its own. */
  readonly receipt: string;
}

export interface LaneDepth {
  readonly lane: Lane;
  readonly waiting: number;
  readonly delivered: number;
}

/** What a receiver has room for while it waits. */
export interface ReceiverRoom {
  now(): Room;
  /** Calls `listener` whenever there may be more room than before. Returns the function that unsubscribes it. */
  onMore(listener: () => void): () => void;
}

/**
 * Carries hints to workers, never truth: a message may be lost, duplicated, late or out of order, so ask the ledger
 * before working on one.
 */
export interface WorkQueue {
  /** Sends each, and returns which ones were refused. All others were accepted. */
  send(refs: readonly BatchRef[]): Promise<{ readonly refused: readonly BatchRef[] }>;
  /**
   * Waits as long as it takes for at least one message that there is room for; resolves to [] when `signal` aborts.
   * Delivered messages are hidden from other receivers for `hideMs`, then delivered again unless they were acknowledged.
   *
   * Jobs take turns: a job with one message does not wait until a job with thousands has been delivered. A message without
   * room, because its job already has its share of this receiver, is left to others, and delivered as soon as there is more
   * room. A queue that cannot choose may keep it from others for a few seconds.
   */
  receive(lane: Lane, room: ReceiverRoom, hideMs: number, signal: AbortSignal): Promise<readonly Delivery[]>;
  /** Hides deliveries for `hideMs` from now. Receipts that are no longer valid are ignored. */
  extend(receipts: readonly string[], hideMs: number): Promise<void>;
  /** The message is done. Receipts that are no longer valid are ignored: another delivery may still be in progress. */
  ack(receipts: readonly string[]): Promise<void>;
  /** Returns deliveries at once. Receipts that are no longer valid are ignored. */
  giveBack(receipts: readonly string[]): Promise<void>;
  depth(): Promise<readonly LaneDepth[]>;
}

/** The receiving end: the methods that a worker needs. */
export type WorkerQueue = Pick<WorkQueue, 'receive' | 'extend' | 'ack' | 'giveBack'>;

/**
 * Messages that were delivered repeatedly and never acknowledged. The queue has set them aside and no longer delivers
 * them to workers. A queue that sets nothing aside has none.
 */
export interface DeadLetters {
  /**
   * Some dead letters, at most `max`; it does not wait for any, and [] does not mean that there are none. They are hidden
   * from other callers for about a minute, then available again unless they were forgotten.
   */
  takeDead(lane: Lane, max: number): Promise<readonly Delivery[]>;
  /** The dead letters are done. Receipts that are no longer valid are ignored. */
  forgetDead(receipts: readonly string[]): Promise<void>;
}
