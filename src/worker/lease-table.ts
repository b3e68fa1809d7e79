/** What a place of a worker has: a lease, and the message that led to it. */
export interface Held {
  readonly token: string;
  readonly receipt: string;
}

/** Room for token and receipt together. The longest, SQS receipts, have up to 1024 bytes. */
const TEXT_BYTES = 1536;

/** Version, length of the token, length of the receipt, and one unused word, each of 4 bytes. */
const HEAD_WORDS = 4;
const SLOT_BYTES = HEAD_WORDS * 4 + TEXT_BYTES;
const SLOT_WORDS = SLOT_BYTES / 4;

/** The word before the slots counts the ticks of the main thread. */
const FIRST_SLOT_WORD = 4;

/** A write takes half a microsecond, so a writer that is still not done was suspended in the middle of it. */
const MAX_LOOKS = 10_000;

/**
 * What each place of a worker has, in memory that the main thread writes and the heartbeat's thread reads. Tens of
 * thousands of leases pass per second, too many to send a message for each.
 * Each entry has a version, which is odd while it is being written. A reader that finds it odd, or changed after
 * reading, has read a mixture and looks again. The writer never waits.
 */
export class LeaseTable {
  readonly slots: number;
  readonly buffer: SharedArrayBuffer;
  readonly #words: Int32Array;
  readonly #bytes: Buffer;

  constructor(buffer: SharedArrayBuffer) {
    this.buffer = buffer;
    this.#words = new Int32Array(buffer);
    this.#bytes = Buffer.from(buffer);
    this.slots = Math.floor((this.#words.length - FIRST_SLOT_WORD) / SLOT_WORDS);
  }

  static of(slots: number): LeaseTable {
    return new LeaseTable(new SharedArrayBuffer(FIRST_SLOT_WORD * 4 + slots * SLOT_BYTES));
  }

  hold(slot: number, { token, receipt }: Held): void {
    const word = this.#wordOf(slot);
    const tokenBytes = Buffer.byteLength(token);
    const receiptBytes = Buffer.byteLength(receipt);
    if (tokenBytes + receiptBytes > TEXT_BYTES) throw new RangeError('lease table: token and receipt are too long');
    // An atomic read-modify-write: later writes cannot become visible before it, which a plain store would allow.
    Atomics.add(this.#words, word, 1);
    const text = (word + HEAD_WORDS) * 4;
    this.#words[word + 1] = tokenBytes;
    this.#words[word + 2] = receiptBytes;
    this.#bytes.write(token, text);
    this.#bytes.write(receipt, text + tokenBytes);
    Atomics.add(this.#words, word, 1);
  }

  drop(slot: number): void {
    const word = this.#wordOf(slot);
    Atomics.add(this.#words, word, 1);
    this.#words[word + 1] = 0;
    Atomics.add(this.#words, word, 1);
  }

  /** All current leases. An entry that keeps changing is left out, and read the next time. */
  read(): readonly Held[] {
    const all: Held[] = [];
    for (let slot = 0; slot < this.slots; slot += 1) {
      const held = this.#readSlot(this.#wordOf(slot));
      if (held !== null) all.push(held);
    }
    return all;
  }

  /** The main thread reports that it is alive. */
  tick(): void {
    Atomics.add(this.#words, 0, 1);
  }

  get ticks(): number {
    return Atomics.load(this.#words, 0);
  }

  #readSlot(word: number): Held | null {
    const text = (word + HEAD_WORDS) * 4;
    for (let look = 0; look < MAX_LOOKS; look += 1) {
      const version = Atomics.load(this.#words, word);
      if (version & 1) continue;
      const tokenEnd = text + Math.min(this.#words[word + 1] ?? 0, TEXT_BYTES);
      const receiptEnd = Math.min(tokenEnd + (this.#words[word + 2] ?? 0), text + TEXT_BYTES);
      const token = this.#bytes.toString('utf8', text, tokenEnd);
      const receipt = this.#bytes.toString('utf8', tokenEnd, receiptEnd);
      // Exchanged for itself, because a plain load could be reordered before the reads above.
      if (Atomics.compareExchange(this.#words, word, version, version) !== version) continue;
      return token === '' ? null : { token, receipt };
    }
    return null;
  }

  #wordOf(slot: number): number {
    if (!Number.isInteger(slot) || slot < 0 || slot >= this.slots) throw new RangeError(`there is no slot ${slot}`);
    return FIRST_SLOT_WORD + slot * SLOT_WORDS;
  }
}
