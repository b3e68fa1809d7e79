/** Limits the bytes of answers that a process holds until it is known whether they are needed. */
export class HeldRoom {
  readonly #most: number;
  #bytes = 0;

  constructor(most = MOST_BYTES) {
    this.#most = most;
  }

  /** False if there is no room for so many; then nothing is taken. */
  take(bytes: number): boolean {
    if (this.#bytes + bytes > this.#most) return false;
    this.#bytes += bytes;
    return true;
  }

  give(bytes: number): void {
    this.#bytes -= bytes;
  }
}

/** A hundred visits of a few ordinary pages each: a worker must not need more memory for this. */
const MOST_BYTES = 8 << 20;
