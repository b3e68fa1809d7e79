import { type Room, roomForAnyJob } from '../../src/domain/slot-share.ts';
import type { ReceiverRoom } from '../../src/ports/work-queue.ts';

/** A receiver with room for `most` batches, whatever their jobs. */
export function roomFor(most: number): ReceiverRoom {
  const room = roomForAnyJob(most);
  return { now: () => room, onMore: () => () => {} };
}

/** A receiver's room that changes when the test says so. */
export class ChangingRoom implements ReceiverRoom {
  readonly #listeners = new Set<() => void>();
  #now: Room;

  constructor(now: Room) {
    this.#now = now;
  }

  now(): Room {
    return this.#now;
  }

  change(room: Room): void {
    this.#now = room;
    for (const tell of [...this.#listeners]) tell();
  }

  onMore(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
