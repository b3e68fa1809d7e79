import type { Room } from './slot-share.ts';

/** The room of a receiver, as last reported. */
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
