import type { ClientClock } from '../../contract/client/client-clock.ts';
import { RateWindow, type Transfer } from '../progress.ts';

const NEWLINE = 0x0a;

/** Counts the bytes and lines that pass through. */
export class Meter {
  readonly #clock: Pick<ClientClock, 'elapsed'>;
  readonly #totalBytes: number | null;
  readonly #lineName: string | null;
  readonly #byteRate = new RateWindow();
  readonly #lineRate = new RateWindow();
  #bytes: number;
  #lines = 0;

  constructor(deps: {
    readonly clock: Pick<ClientClock, 'elapsed'>;
    readonly totalBytes: number | null;
    /** What to call a line (`line`, `row`); null if there are none. */
    readonly lineName: string | null;
    /** Bytes that were transferred before. */
    readonly from?: number;
  }) {
    this.#clock = deps.clock;
    this.#totalBytes = deps.totalBytes;
    this.#lineName = deps.lineName;
    this.#bytes = deps.from ?? 0;
  }

  async *count(pieces: AsyncIterable<Uint8Array>, onPiece: () => void): AsyncGenerator<Uint8Array> {
    for await (const piece of pieces) {
      yield piece;
      // Counted only now: asking for the next piece means that the consumer has finished with this one.
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
