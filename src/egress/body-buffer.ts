/**
 * Collects the bytes of a body. They are copied together at once: a server may send a body in pieces of one byte each,
 * and a list of millions of pieces would take a hundred times the memory that the limits allow. Outgrown or discarded
 * memory is freed at once: a garbage collector without pressure may leave many such bodies around.
 */
export class BodyBuffer {
  /** The first piece, as it came: most bodies have no other. */
  #only: Uint8Array | null = null;
  #bytes: Uint8Array<ArrayBuffer> = EMPTY;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  push(chunk: Uint8Array): void {
    if (this.#size === 0) {
      this.#only = chunk;
      this.#size = chunk.length;
      return;
    }
    const size = this.#size + chunk.length;
    if (size > this.#bytes.length) {
      const room = Math.max(SMALLEST, 2 * this.#bytes.length, size);
      this.#bytes = new Uint8Array(this.#only === null ? this.#bytes.buffer.transfer(room) : new ArrayBuffer(room));
      if (this.#only !== null) this.#bytes.set(this.#only);
      this.#only = null;
    }
    this.#bytes.set(chunk, this.#size);
    this.#size = size;
  }

  /** Returns all bytes so far and empties the buffer. */
  take(): Uint8Array {
    const bytes = this.#only ?? this.#bytes.subarray(0, this.#size);
    this.#reset();
    return bytes;
  }

  /** Drops the bytes. */
  discard(): void {
    if (this.#bytes !== EMPTY) this.#bytes.buffer.transfer(0);
    this.#reset();
  }

  #reset(): void {
    this.#only = null;
    this.#bytes = EMPTY;
    this.#size = 0;
  }
}

const EMPTY = new Uint8Array(0);
const SMALLEST = 32 * 1024;
