import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Failure } from '../domain/failure.ts';
import { BodyBuffer } from './body-buffer.ts';
import { type Coding, corrupt, inflaters, overflow } from './inflate.ts';
import type { BodySink } from './web.ts';

export type StreamedEnd =
  | { readonly kind: 'done'; readonly body: Uint8Array; readonly bytes: number }
  | { readonly kind: 'failed'; readonly failure: Failure }
  /** Not the network's fault: the caller that provided the sink gets the error. */
  | { readonly kind: 'sink-failed'; readonly error: unknown };

interface StreamedBodyDeps {
  readonly codings: readonly Coding[];
  /** Limit for the inflated bytes. */
  readonly limit: number;
  /** Null collects them in memory. */
  readonly sink: BodySink | null;
  /** Called when there is room again after `write` returned false. */
  readonly onDrain: () => void;
}

/**
 * A body that is inflated piece by piece while it arrives, off this thread, and goes to a sink or into memory. Each
 * piece waits for the one before, and the sender waits for all of it.
 */
export class StreamedBody {
  readonly ended: Promise<StreamedEnd>;
  readonly #deps: StreamedBodyDeps;
  readonly #source: Readable;
  readonly #gathered = new BodyBuffer();
  #rawBytes = 0;
  #isFull = false;

  constructor(deps: StreamedBodyDeps) {
    this.#deps = deps;
    this.#source = new Readable({ highWaterMark: 2 * PIECE_SIZE, read: () => this.#drain() });
    this.ended = this.#run();
  }

  /** Returns false if no more should be written until `onDrain`. */
  write(chunk: Uint8Array): boolean {
    this.#rawBytes += chunk.length;
    this.#gathered.push(chunk);
    if (this.#gathered.size >= PIECE_SIZE) this.#isFull = !this.#source.push(this.#gathered.take());
    return !this.#isFull;
  }

  end(): void {
    if (this.#gathered.size > 0) this.#source.push(this.#gathered.take());
    this.#source.push(null);
  }

  /** Drops the rest; `ended` then means nothing. */
  stop(): void {
    this.#source.destroy();
  }

  async #run(): Promise<StreamedEnd> {
    const { codings, limit, sink } = this.#deps;
    const body = new BodyBuffer();
    let bytes = 0;
    try {
      for await (const chunk of this.#inflated()) {
        bytes += chunk.length;
        const over = overflow(bytes, this.#rawBytes, limit);
        if (over !== null) return { kind: 'failed', failure: over };
        if (sink === null) body.push(chunk);
        else {
          try {
            await sink.write(chunk);
          } catch (error) {
            return { kind: 'sink-failed', error };
          }
        }
      }
      return { kind: 'done', body: body.take(), bytes };
    } catch (error) {
      return { kind: 'failed', failure: corrupt(codings, error) };
    } finally {
      body.discard();
    }
  }

  #inflated(): AsyncIterable<Uint8Array> {
    const [first, second] = inflaters(this.#deps.codings);
    if (first === undefined) return this.#source;
    // An error in one of them destroys them all, and so reaches the reader of the last.
    const flow = second === undefined ? pipeline(this.#source, first) : pipeline(this.#source, first, second);
    flow.catch(() => undefined);
    return second ?? first;
  }

  #drain(): void {
    if (!this.#isFull) return;
    this.#isFull = false;
    this.#deps.onDrain();
  }
}

/** Servers may send single bytes; each piece costs a trip to another thread. */
const PIECE_SIZE = 64 * 1024;
