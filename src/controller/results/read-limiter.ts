/** Concurrent reads: at most sixteen, and about 64 MiB, but at least one, however large. */
const CAPACITY_BYTES = 64 * 2 ** 20;
const LEAST_BYTES = CAPACITY_BYTES / 16;

/** Runs reads concurrently, within limits. `start` waits for room, not for the read. */
export class ReadLimiter {
  readonly #running = new Set<Promise<void>>();
  #bytes = 0;

  /** `read` handles its own failures. */
  async start(size: number, read: () => Promise<void>): Promise<void> {
    const cost = Math.max(LEAST_BYTES, size);
    while (this.#running.size > 0 && this.#bytes + cost > CAPACITY_BYTES) await Promise.race(this.#running);
    this.#bytes += cost;
    const running = read().finally(() => {
      this.#running.delete(running);
      this.#bytes -= cost;
    });
    this.#running.add(running);
  }

  async idle(): Promise<void> {
    await Promise.all(this.#running);
  }
}
