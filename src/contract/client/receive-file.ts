import type { ApiClient, OpenAnswer, Query } from './api-client.ts';
import { Damaged, Refused, Unreachable } from './api-error.ts';

interface FileRequest {
  readonly path: string;
  readonly query: Query;
}

/** Where received bytes go. */
export interface FileTarget {
  /** Bytes that an earlier try left there. */
  readonly size: number;
  /** Reads those bytes. */
  there(): AsyncIterable<Uint8Array>;
  write(bytes: Uint8Array): Promise<void>;
  /** Discards everything written so far. False where that is impossible. */
  clear(): Promise<boolean>;
}

/** A SHA-256 computed incrementally, like `createHash('sha256')` of node:crypto. */
interface RunningHash {
  update(bytes: Uint8Array): unknown;
  digest(encoding: 'hex'): string;
}

interface ReceiveDeps {
  readonly api: ApiClient;
  readonly target: FileTarget;
  readonly startHash: () => RunningHash;
  readonly onBytes: (bytes: number, total: number | null) => void;
}

/** Consecutive tries without a byte; the client has already retried within each of them. */
const MAX_IDLE_TRIES = 3;
const PAUSE_MS = 500;

/**
 * Receives a file whose ETag is its SHA-256. After a broken connection it resumes where the bytes ended, even if an
 * earlier command received them. The complete file is checked; if it does not match, the beginning belonged to another
 * version, and the transfer starts over once.
 */
export async function receiveFile(
  deps: ReceiveDeps,
  request: FileRequest,
): Promise<{ readonly size: number; readonly sha256: string }> {
  const { target } = deps;
  let isFresh = target.size === 0;
  for (;;) {
    const received = await new Arrival(deps, request).receive(isFresh ? 0 : target.size);
    if (received !== 'wrong') return received;
    if (isFresh || !(await target.clear())) {
      throw new Damaged('the file arrived damaged: its SHA-256 does not match. Try again');
    }
    isFresh = true;
  }
}

class Arrival {
  readonly #deps: ReceiveDeps;
  readonly #request: FileRequest;
  readonly #hash: RunningHash;
  #size = 0;
  #etag: string | null = null;

  constructor(deps: ReceiveDeps, request: FileRequest) {
    this.#deps = deps;
    this.#request = request;
    this.#hash = deps.startHash();
  }

  /** `wrong`: the bytes that were there, or that arrived, are not those of the file. */
  async receive(from: number): Promise<{ size: number; sha256: string } | 'wrong'> {
    if (from > 0) for await (const piece of this.#deps.target.there()) this.#take(piece);
    for (let idle = 0; ; idle += 1) {
      const before = this.#size;
      try {
        if ((await this.#once()) === 'wrong') return 'wrong';
        break;
      } catch (error) {
        if (this.#size > before) idle = 0;
        if (!(error instanceof Unreachable) || idle >= MAX_IDLE_TRIES) throw error;
        await this.#deps.api.clock.sleep(PAUSE_MS, this.#deps.api.signal);
      }
    }
    const sha256 = this.#hash.digest('hex');
    const wanted = /^"([0-9a-f]{64})"$/.exec(this.#etag ?? '')?.[1];
    return wanted === undefined || wanted === sha256 ? { size: this.#size, sha256 } : 'wrong';
  }

  async #once(): Promise<'ended' | 'wrong'> {
    const from = this.#size;
    const answer = await this.#open(from);
    if (answer === 'wrong') return 'wrong';
    const { response } = answer;
    try {
      const etag = response.headers.get('etag');
      const isSame = this.#etag === null || this.#etag === etag;
      if (!isSame || (from > 0 && response.status !== 206)) return 'wrong';
      this.#etag = etag;
      const length = Number(response.headers.get('content-length') ?? Number.NaN);
      const total = Number.isFinite(length) ? from + length : null;
      for await (const piece of answer.bytes()) {
        await this.#deps.target.write(piece);
        this.#take(piece);
        this.#deps.onBytes(this.#size, total);
      }
      return 'ended';
    } finally {
      answer.close();
    }
  }

  async #open(from: number): Promise<OpenAnswer | 'wrong'> {
    const range = { range: `bytes=${from}-`, ...(this.#etag === null ? {} : { 'if-range': this.#etag }) };
    try {
      return await this.#deps.api.open({
        method: 'GET',
        ...this.#request,
        // Ranges and the hash refer to the uncompressed bytes.
        headers: { accept: '*/*', 'accept-encoding': 'identity', ...(from > 0 ? range : {}) },
      });
    } catch (error) {
      // The target has more bytes than the file.
      if (error instanceof Refused && error.status === 416 && from > 0) return 'wrong';
      throw error;
    }
  }

  #take(piece: Uint8Array): void {
    this.#hash.update(piece);
    this.#size += piece.length;
  }
}
