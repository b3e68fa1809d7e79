import { roomForAnyJob } from '../../src/domain/slot-share.ts';
import type { ReceiverRoom } from '../../src/ports/work-queue.ts';

/** A receiver with room for `most` batches, whatever their jobs. */
export function roomFor(most: number): ReceiverRoom {
  const room = roomForAnyJob(most);
  return { now: () => room, onMore: () => () => {} };
}
