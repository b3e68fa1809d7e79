import type { Clock } from '../../main/client.ts';
import { RateWindow, type Transfer } from '../progress.ts';

const NEWLINE = 0x0a;

/** Counts bytes, and lines, that pass by. */
export class Meter {
  readonly #clock: Pick<Clock, 'elapsed'>;
  readonly #totalBytes: number | null;
  readonly #lineName: string | null;
  readonly #byteRate = new RateWindow();
  readonly #lineRate = new RateWindow();
  #bytes: number;
  #lines = 0;

  constructor(parts: {
    readonly clock: Pick<Clock, 'elapsed'>;
    readonly totalBytes: number | null;
    /** What one is called: `line`, `row`; null for what has none. */
    readonly lineName: string | null;
    /** Bytes that are there already. */
    readonly from?: number;
  }) {
    this.#clock = parts.clock;
    this.#totalBytes = parts.totalBytes;
    this.#lineName = parts.lineName;
    this.#bytes = parts.from ?? 0;
  }

  async *count(pieces: AsyncIterable<Uint8Array>, onPiece: () => void): AsyncGenerator<Uint8Array> {
    for await (const piece of pieces) {
      yield piece;
      // Only now: whoever took it has asked for the next.
      this.#bytes += piece.length;
      if (this.#lineName !== null) this.#lines += linesIn(piece);
      onPiece();
    }
  }

  transfer(): Transfer {
    const at = this.#clock.elapsed();
    this.#byteRate.add(at, this.#bytes);
    this.#lineRate.add(at, this.#lines);
    const name = `${this.#lineName}${this.#lines === 1 ? '' : 's'}`;
    const lines = { count: this.#lines, perSecond: this.#lineRate.perSecond(), name };
    return {
      bytes: this.#bytes,
      totalBytes: this.#totalBytes,
      bytesPerSecond: this.#byteRate.perSecond(),
      lines: this.#lineName === null ? null : lines,
    };
  }
}

function linesIn(piece: Uint8Array): number {
  let count = 0;
  for (let at = piece.indexOf(NEWLINE); at >= 0; at = piece.indexOf(NEWLINE, at + 1)) count += 1;
  return count;
}
