import type { Room } from './slot-share.ts';

/** What a receiver has room for, as of the last time it said so. */
export class ChangingRoom {
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
