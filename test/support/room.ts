import type { Room } from '../../src/domain/slot-share.ts';
import type { ReceiverRoom } from '../../src/ports/work-queue.ts';

/** A receiver with room for `most` batches of any jobs. */
export function roomFor(most: number): ReceiverRoom {
  const room = roomForAnyJob(most);
  return { now: () => room, onMore: () => () => {} };
}

/** Room for `most` batches of any jobs. */
export function roomForAnyJob(most: number): Room {
  return { most, freeSlots: Number.MAX_SAFE_INTEGER, freePlaces: Number.MAX_SAFE_INTEGER, jobs: [] };
}
