import { open } from 'node:fs/promises';
import type { Clock } from '../ports/clock.ts';

/** Short enough to notice an edit, long enough to cost nothing compared with the lookups that need it. */
const GOOD_MS = 5000;

/** A small system file that may change while we run: it is read again when our copy is old. */
export class RereadFile {
  readonly #path: string;
  readonly #maxBytes: number;
  readonly #clock: Clock;
  #text: Promise<string> | null = null;
  #readAt = 0;

  constructor(path: string, maxBytes: number, clock: Clock) {
    this.#path = path;
    this.#maxBytes = maxBytes;
    this.#clock = clock;
  }

  /** Its first `maxBytes`; empty if there is no such file, or it cannot be read. */
  text(): Promise<string> {
    const now = this.#clock.elapsed();
    if (this.#text === null || now - this.#readAt >= GOOD_MS) {
      this.#readAt = now;
      this.#text = this.#read().catch(() => '');
    }
    return this.#text;
  }

  async #read(): Promise<string> {
    await using file = await open(this.#path);
    const { size } = await file.stat();
    const room = Buffer.alloc(Math.min(size, this.#maxBytes));
    const { bytesRead } = await file.read(room, 0, room.length, 0);
    return room.toString('utf8', 0, bytesRead);
  }
}
