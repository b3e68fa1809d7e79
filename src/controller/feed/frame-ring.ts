import { encodeEvent, type FeedEvent } from './feed-event.ts';

/**
 * The latest frames of a feed. A frame is the result of one look at the job: some events, each with a number, in one
 * buffer that all watchers share. Watchers keep no queue: each knows the number of the last event it got, and asks for
 * what comes after. The answer is `dropped` if that is no longer kept.
 */
export class FrameRing {
  readonly #idPrefix: string;
  readonly #maxFrames: number;
  readonly #maxBytes: () => number;
  readonly #frames: Frame[] = [];
  #bytes = 0;
  #head = 0;

  constructor(parts: { idPrefix: string; maxFrames: number; maxBytes: () => number }) {
    this.#idPrefix = parts.idPrefix;
    this.#maxFrames = parts.maxFrames;
    this.#maxBytes = parts.maxBytes;
  }

  /** The number of the latest event; 0 before the first. */
  get head(): number {
    return this.#head;
  }

  idOf(number: number): string {
    return `${this.#idPrefix}-${number}`;
  }

  /** The number in an id of this feed, or null: ids come from outside. */
  numberOf(id: string): number | null {
    if (!id.startsWith(`${this.#idPrefix}-`)) return null;
    const digits = id.slice(this.#idPrefix.length + 1);
    const number = /^\d{1,15}$/.test(digits) ? Number(digits) : null;
    return number === null || number > this.#head ? null : number;
  }

  /** `isLast`: streams end after it. */
  add(events: readonly FeedEvent[], isLast: boolean): void {
    const first = this.#head + 1;
    const encoded = events.map((event, index) => Buffer.from(encodeEvent(event, this.idOf(first + index))));
    this.#head += events.length;
    const frame: Frame = {
      first,
      last: this.#head,
      sizes: encoded.map(({ length }) => length),
      bytes: Buffer.concat(encoded),
      isLast,
    };
    this.#frames.push(frame);
    this.#bytes += frame.bytes.length;
    while (this.#frames.length > this.#maxFrames || this.#bytes > this.#maxBytes()) {
      const dropped = this.#frames.shift();
      if (dropped === undefined) return;
      this.#bytes -= dropped.bytes.length;
    }
  }

  /** The next frame for a watcher that has seen `number`; null if there is none yet, `dropped` if it is no longer here. */
  after(number: number): Piece | 'dropped' | null {
    if (number >= this.#head) return null;
    // Nearly all watchers want the latest.
    const index = this.#frames.findLastIndex(({ first }) => first <= number + 1);
    const frame = this.#frames[index];
    if (frame === undefined) return 'dropped';
    const skipped = frame.sizes.slice(0, number + 1 - frame.first).reduce((sum, size) => sum + size, 0);
    return {
      last: frame.last,
      bytes: skipped === 0 ? frame.bytes : frame.bytes.subarray(skipped),
      isLast: frame.isLast,
    };
  }
}

interface Piece {
  /** The number of its last event. */
  readonly last: number;
  readonly bytes: Buffer;
  readonly isLast: boolean;
}

interface Frame extends Piece {
  readonly first: number;
  /** Size of each event, in bytes. */
  readonly sizes: readonly number[];
}
