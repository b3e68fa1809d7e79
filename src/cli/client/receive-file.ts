import { createHash, type Hash } from 'node:crypto';
import { EXIT } from '../exit-codes.ts';
import type { ApiClient, OpenAnswer, Query } from './api-client.ts';
import { ApiError, Refused, Unreachable } from './api-error.ts';
import type { Target } from './file-target.ts';

export interface FileRequest {
  readonly path: string;
  readonly query: Query;
}

/** Tries in a row that bring nothing; the client has had patience with each of them already. */
const MAX_IDLE_TRIES = 3;
const PAUSE_MS = 500;

/**
 * Receives a file of which the ETag is the SHA-256. A connection that breaks off is made again and goes on behind what
 * has arrived, also that of an earlier command; what is complete is checked, and is begun again, once, if it is not what
 * it should be: then the beginning was of something else.
 */
export async function receiveFile(
  api: ApiClient,
  request: FileRequest,
  target: Target,
  onBytes: (bytes: number, total: number | null) => void,
): Promise<{ readonly size: number; readonly sha256: string }> {
  let isFresh = target.size === 0;
  for (;;) {
    const file = new Arrival(api, request, target, onBytes);
    const ended = await file.receive(isFresh ? 0 : target.size);
    if (ended !== 'wrong') return ended;
    if (isFresh || !(await target.clear())) {
      throw new ApiError('what arrived is not what the server has: its SHA-256 is another', EXIT.failed);
    }
    isFresh = true;
  }
}

class Arrival {
  readonly #api: ApiClient;
  readonly #request: FileRequest;
  readonly #target: Target;
  readonly #onBytes: (bytes: number, total: number | null) => void;
  readonly #hash: Hash = createHash('sha256');
  #size = 0;
  #etag: string | null = null;

  constructor(
    api: ApiClient,
    request: FileRequest,
    target: Target,
    onBytes: (bytes: number, total: number | null) => void,
  ) {
    this.#api = api;
    this.#request = request;
    this.#target = target;
    this.#onBytes = onBytes;
  }

  /** `wrong`: what was there, or what came, is of something else. */
  async receive(from: number): Promise<{ size: number; sha256: string } | 'wrong'> {
    if (from > 0) for await (const piece of this.#target.there()) this.#take(piece);
    for (let idle = 0; ; idle += 1) {
      const before = this.#size;
      try {
        if ((await this.#once()) === 'wrong') return 'wrong';
        break;
      } catch (error) {
        if (this.#size > before) idle = 0;
        if (!(error instanceof Unreachable) || idle >= MAX_IDLE_TRIES) throw error;
        await this.#api.clock.sleep(PAUSE_MS, this.#api.signal);
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
        await this.#target.write(piece);
        this.#take(piece);
        this.#onBytes(this.#size, total);
      }
      return 'ended';
    } finally {
      answer.close();
    }
  }

  async #open(from: number): Promise<OpenAnswer | 'wrong'> {
    const range = { range: `bytes=${from}-`, ...(this.#etag === null ? {} : { 'if-range': this.#etag }) };
    try {
      return await this.#api.open({
        method: 'GET',
        ...this.#request,
        // Ranges count the bytes that were kept, and so does the hash.
        headers: { accept: '*/*', 'accept-encoding': 'identity', ...(from > 0 ? range : {}) },
      });
    } catch (error) {
      // What is there is longer than the file.
      if (error instanceof Refused && error.status === 416 && from > 0) return 'wrong';
      throw error;
    }
  }

  #take(piece: Uint8Array): void {
    this.#hash.update(piece);
    this.#size += piece.length;
  }
}
