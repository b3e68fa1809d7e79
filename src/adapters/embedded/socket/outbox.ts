import type { Socket } from 'node:net';
import type { Clock } from '../../../ports/clock.ts';
import { encodeFrame, MAX_FRAME_BYTES } from './frame.ts';

/** Beyond this a frame is sent and the next one begun, so that the other side can start before all is written. */
const FULL_FRAME_CHARS = 256 * 1024;

/** Leaves room for brackets, and for characters that take three bytes. */
const MAX_ENTRY_CHARS = Math.floor((MAX_FRAME_BYTES - 1024) / 3);

/** How long an entry that nobody waits for stays here without another one to go with: as long as settles are gathered. */
const LATER_MS = 100;

/**
 * What to send on a connection. Entries that come together are sent together in as few frames as possible, because a
 * frame costs far more than an entry; while the other side does not read, they wait here.
 */
export class Outbox {
  readonly #socket: Socket;
  readonly #kind: string;
  #entries: string[] = [];
  readonly #clock: Pick<Clock, 'sleep'>;
  #isFlushing = false;
  #isWaiting = false;

  constructor(socket: Socket, kind: 'calls' | 'replies', clock: Pick<Clock, 'sleep'>) {
    this.#socket = socket;
    this.#clock = clock;
    this.#kind = JSON.stringify(kind);
  }

  /** True while the other side is behind. */
  get isBlocked(): boolean {
    return this.#socket.writableNeedDrain;
  }

  /** `entry` is JSON. False if it is too large to be sent at all. */
  add(entry: string): boolean {
    if (entry.length > MAX_ENTRY_CHARS) return false;
    this.#entries.push(entry);
    if (!this.#isFlushing) void this.#flushSoon();
    return true;
  }

  /** The same for an entry that has no answer: it goes in the frame of the next one, if that comes soon. */
  addLater(entry: string): boolean {
    if (entry.length > MAX_ENTRY_CHARS) return false;
    this.#entries.push(entry);
    if (!this.#isFlushing && !this.#isWaiting) void this.#flushLater();
    return true;
  }

  /** For messages that go alone: hello, welcome, bye. What was added before is sent before. */
  sendNow(message: readonly unknown[]): void {
    this.#writeEntries();
    if (this.#socket.writable) this.#socket.write(encodeFrame(JSON.stringify(message)));
  }

  /**
   * When everything that the present event set off has come to rest: one commit answers hundreds of calls. Waiting for
   * the next turn of the event loop would gather no more, and is felt where few items are allowed at a time.
   */
  async #flushSoon(): Promise<void> {
    this.#isFlushing = true;
    await new Promise<void>((resolve) => process.nextTick(resolve));
    while (this.#entries.length > 0 && this.#socket.writable) {
      if (this.#socket.writableNeedDrain) await drained(this.#socket);
      else this.#writeEntries();
    }
    this.#isFlushing = false;
  }

  async #flushLater(): Promise<void> {
    this.#isWaiting = true;
    await this.#clock.sleep(LATER_MS);
    this.#isWaiting = false;
    if (this.#entries.length > 0 && !this.#isFlushing) await this.#flushSoon();
  }

  #writeEntries(): void {
    const entries = this.#entries;
    this.#entries = [];
    if (!this.#socket.writable) return;
    let from = 0;
    let chars = 0;
    for (const [index, entry] of entries.entries()) {
      if (chars > 0 && chars + entry.length > FULL_FRAME_CHARS) {
        this.#writeFrame(entries.slice(from, index));
        from = index;
        chars = 0;
      }
      chars += entry.length;
    }
    if (from < entries.length) this.#writeFrame(from === 0 ? entries : entries.slice(from));
  }

  #writeFrame(entries: readonly string[]): void {
    this.#socket.write(encodeFrame(`[${this.#kind},${entries.join(',')}]`));
  }
}

/** Resolves when drained or closed: the caller looks again. */
function drained(socket: Socket): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const done = () => {
    socket.off('drain', done);
    socket.off('close', done);
    resolve();
  };
  socket.on('drain', done);
  socket.on('close', done);
  return promise;
}
