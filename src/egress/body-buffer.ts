/**
 * Bytes of a body, gathered. They are copied together at once: a server may send a body in pieces of one byte each, and a
 * list of millions of pieces would take a hundred times the memory that the limits allow.
 */
export class BodyBuffer {
  /** The first piece, as it came: most bodies have no other. */
  #only: Uint8Array | null = null;
  #bytes: Buffer = EMPTY;
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
      const grown = Buffer.allocUnsafeSlow(Math.max(SMALLEST, 2 * this.#bytes.length, size));
      grown.set(this.#only ?? this.#bytes.subarray(0, this.#size));
      this.#bytes = grown;
      this.#only = null;
    }
    this.#bytes.set(chunk, this.#size);
    this.#size = size;
  }

  /** All bytes so far; the buffer is empty then. */
  take(): Uint8Array {
    const bytes = this.#only ?? this.#bytes.subarray(0, this.#size);
    this.#only = null;
    this.#bytes = EMPTY;
    this.#size = 0;
    return bytes;
  }
}

const EMPTY = Buffer.alloc(0);
const SMALLEST = 32 * 1024;
