import { Transform, type TransformCallback } from 'node:stream';
import { crc32, createInflateRaw, type InflateRaw } from 'node:zlib';
import {
  checkTail,
  hasTooManyMembers,
  headLength,
  isMember,
  MAGIC_LENGTH,
  TAIL_LENGTH,
  TooManyMembers,
} from './gzip-members.ts';

/**
 * Gzip, inflated while it arrives, by the rules of gzip-members.ts. It reads
 *
 *   head    a member's header, which may be spread over several pieces
 *   data    what is deflated, by an inflater per member: only that knows where the data ends
 *   tail    checksum and size
 *   over    after the last member: other bytes, which are ignored
 */
export class GunzipStream extends Transform {
  readonly #chunkSize: number;
  #state: 'head' | 'data' | 'tail' | 'over' = 'head';
  /** Bytes of a head or a tail that is not complete yet. */
  #partial: Buffer = EMPTY;
  #inflater: InflateRaw | null = null;
  #members = 0;
  #rawBytes = 0;
  #checksum = 0;
  #size = 0;

  constructor({ chunkSize }: { readonly chunkSize: number }) {
    super();
    this.#chunkSize = chunkSize;
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    this.#rawBytes += chunk.length;
    this.#take(chunk, done);
  }

  override _flush(done: TransformCallback): void {
    const isWhole =
      this.#rawBytes === 0 ||
      this.#state === 'over' ||
      (this.#state === 'head' && this.#members > 0 && !isMember(this.#partial));
    done(isWhole ? null : new Error('it ends within a gzip member'));
  }

  override _read(size: number): void {
    this.#inflater?.resume();
    super._read(size);
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#inflater?.destroy();
    done(error);
  }

  /** Passes bytes to the current state until none are left. */
  #take(bytes: Buffer, done: TransformCallback): void {
    if (bytes.length === 0 || this.#state === 'over') {
      done();
      return;
    }
    if (this.#state === 'data') {
      this.#inflate(bytes, done);
      return;
    }
    const rest = this.#partial.length === 0 ? bytes : Buffer.concat([this.#partial, bytes]);
    this.#partial = EMPTY;
    let used: number | null;
    try {
      used = this.#state === 'head' ? this.#readHead(rest) : this.#readTail(rest);
    } catch (error) {
      done(error instanceof Error ? error : new Error(String(error)));
      return;
    }
    if (used === null) {
      this.#partial = rest;
      done();
    } else this.#take(rest.subarray(used), done);
  }

  #readHead(bytes: Buffer): number | null {
    if (this.#members > 0 && bytes.length >= MAGIC_LENGTH && !isMember(bytes)) {
      this.#state = 'over';
      return bytes.length;
    }
    const length = headLength(bytes);
    if (length === null) {
      if (bytes.length > MAX_HEAD_BYTES) throw new Error('the gzip header does not end');
      return null;
    }
    this.#members += 1;
    if (hasTooManyMembers(this.#members, this.#rawBytes)) throw new TooManyMembers();
    this.#state = 'data';
    return length;
  }

  #readTail(bytes: Buffer): number | null {
    if (bytes.length < TAIL_LENGTH) return null;
    checkTail(bytes.subarray(0, TAIL_LENGTH), this.#checksum, this.#size);
    this.#checksum = 0;
    this.#size = 0;
    this.#state = 'head';
    return TAIL_LENGTH;
  }

  #inflate(bytes: Buffer, done: TransformCallback): void {
    const inflater = this.#inflater ?? this.#openInflater();
    const before = inflater.bytesWritten;
    inflater.write(bytes, (error) => {
      // Its own listener has reported it.
      if (error) return;
      const used = inflater.bytesWritten - before;
      // Data that ends with the piece is noticed at the next one, which is not used. There always is one: the
      // tail.
      if (used === bytes.length) {
        done();
        return;
      }
      const goOn = () => {
        this.#inflater = null;
        inflater.destroy();
        this.#state = 'tail';
        this.#take(bytes.subarray(used), done);
      };
      if (inflater.readableEnded) goOn();
      else inflater.once('end', goOn);
    });
  }

  #openInflater(): InflateRaw {
    const inflater = createInflateRaw({ chunkSize: this.#chunkSize });
    inflater.on('error', (error) => this.destroy(error));
    inflater.on('data', (bytes: Buffer) => {
      this.#checksum = crc32(bytes, this.#checksum);
      this.#size += bytes.length;
      if (!this.push(bytes)) inflater.pause();
    });
    this.#inflater = inflater;
    return inflater;
  }
}

const EMPTY = Buffer.alloc(0);

/** An extra field of 64 KiB, and a name and a comment that are longer than any file system allows. */
const MAX_HEAD_BYTES = 128 * 1024;
