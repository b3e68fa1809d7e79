import type { Room } from '../../../domain/slot-share.ts';
import type { ReceiverRoom } from '../../../ports/work-queue.ts';

/** What a worker in another process has room for, as of the last time it said so. */
export class RemoteRoom implements ReceiverRoom {
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
