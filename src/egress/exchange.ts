import type { Dispatcher } from 'undici';
import { type Failure, failure } from '../domain/failure.ts';
import type { Counting } from '../domain/usage.ts';
import type { ActiveSend } from './active-send.ts';
import { BodyBuffer } from './body-buffer.ts';
import type { Connection, ConnectionPool } from './connection-pool.ts';
import { type Coding, inflate, isLarge, overflow, parseCodings } from './inflate.ts';
import { readHeaders } from './read-headers.ts';
import { isRedirect } from './redirects.ts';
import { StreamedBody } from './streamed-body.ts';
import { isLoss, translateError } from './translate-error.ts';
import type { BodySink, Visit, WebRequest } from './web.ts';

/** One hop: a request and its answer on one connection. */
export interface ExchangeDeps {
  readonly connection: Connection;
  readonly pool: ConnectionPool;
  readonly method: WebRequest['method'];
  /** URL of the hop, without secrets. */
  readonly url: string;
  readonly path: string;
  /** Name, value, name, value … */
  readonly headers: string[];
  readonly body: Uint8Array | null;
  readonly visit: Visit;
  readonly active: ActiveSend;
  /** Null if it is not counted. */
  readonly usage: Counting | null;
}

export type ExchangeEnd =
  | HopAnswer
  | { readonly kind: 'failed'; readonly failure: Failure; readonly isLost?: true }
  /** The connection had been idle for too long, and the server has done nothing about the request: try a new one. */
  | { readonly kind: 'stale' }
  /** Stopped by `active`, which knows why. */
  | { readonly kind: 'stopped' }
  /** A callback of the visit has thrown. */
  | { readonly kind: 'thrown'; readonly error: unknown };

interface HopAnswer {
  readonly kind: 'answer';
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly setCookie: readonly string[];
  /** Empty for a redirect, whose body is not read. */
  readonly body: Uint8Array;
  readonly bytes: number;
  readonly rawBytes: number;
}

export function exchange(deps: ExchangeDeps): Promise<ExchangeEnd> {
  const { promise, resolve } = Promise.withResolvers<ExchangeEnd>();
  const { connection, visit, active } = deps;
  const handler = new Exchange(deps, resolve);
  active.begin('answer', visit.deadlines.firstByteMs);
  active.onStop(() => handler.end({ kind: 'stopped' }));
  const { method, path, headers, body } = deps;
  if (active.stopped === null) connection.client.dispatch({ method, path, headers, body }, handler);
  return promise;
}

/** Early hints and the like. We ask for none; an honest server sends one or two. */
const MAX_INFORMATIONAL = 16;

/** How much of a redirect's body is read, to keep its connection. */
const MAX_DISCARDED_BYTES = 64 * 1024;

const EMPTY = new Uint8Array(0);

const GZIP: readonly Coding[] = ['gzip'];

/** Waits for the head, then collects or streams the body (or drops it), then ends. Only the first end counts. */
class Exchange implements Dispatcher.DispatchHandler {
  readonly #deps: ExchangeDeps;
  #tell: ((end: ExchangeEnd) => void) | null;
  #controller: Dispatcher.DispatchController | null = null;
  #hasBegun = false;
  #informational = 0;

  #status = 0;
  #headers: Readonly<Record<string, string>> = {};
  #setCookie: readonly string[] = [];
  #isDropped = false;
  #sink: BodySink | null = null;
  #codings: readonly Coding[] | null = null;
  #rawBytes = 0;
  readonly #gathered = new BodyBuffer();
  #streamed: StreamedBody | null = null;
  /** The answer is complete, and the connection may be used for another request. */
  #isReceived = false;

  constructor(deps: ExchangeDeps, tell: (end: ExchangeEnd) => void) {
    this.#deps = deps;
    this.#tell = tell;
  }

  end(end: ExchangeEnd): void {
    if (this.#tell === null) return;
    const tell = this.#tell;
    this.#tell = null;
    this.#deps.active.onStop(null);
    if (!this.#isReceived) this.#countBytes(end.kind !== 'stale');
    this.#streamed?.stop();
    this.#gathered.discard();
    if (!this.#isReceived) this.#deps.connection.destroy();
    tell(end);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
  }

  onResponseStarted(): void {
    this.#hasBegun = true;
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    parsed: Readonly<Record<string, string | string[] | undefined>>,
  ): void {
    if (this.#tell === null) return;
    if (status < 200) {
      this.#skipInformational(status);
      return;
    }
    const { connection, visit, active, method, url, usage } = this.#deps;
    const read = readHeaders(parsed, (controller.rawHeaders as readonly unknown[]).length / 2);
    if (read.kind === 'failed') {
      this.end(read);
      return;
    }
    const said = connection.via === null ? null : connection.via.judge(status, read.headers);
    if (said !== null) {
      this.end({ kind: 'failed', failure: said });
      return;
    }
    if (usage !== null && status === 429) usage.refused += 1;
    if (usage !== null && status === 403) usage.blocked += 1;
    this.#status = status;
    this.#headers = read.headers;
    this.#setCookie = read.setCookie;
    active.begin('body', visit.deadlines.silenceMs);
    this.#isDropped = isRedirect(status);
    if (this.#isDropped || method === 'HEAD' || status === 204 || status === 304) return;
    if (Number(read.headers['content-length'] ?? 0) > visit.limits.rawBytes) {
      this.#failTooLong();
      return;
    }
    try {
      this.#sink = visit.sink?.({ status, headers: read.headers, url }) ?? null;
    } catch (error) {
      this.end({ kind: 'thrown', error });
    }
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#tell === null) return;
    const { visit, active } = this.#deps;
    active.again();
    this.#rawBytes += chunk.length;
    if (this.#isDropped) {
      if (this.#rawBytes > MAX_DISCARDED_BYTES) this.#answer(EMPTY, 0);
    } else if (this.#rawBytes > visit.limits.rawBytes) this.#failTooLong();
    else if (this.#streamed !== null) this.#stream(this.#streamed, chunk);
    else this.#gather(chunk);
  }

  onResponseEnd(): void {
    if (this.#tell === null) return;
    const { connection, pool, visit, active } = this.#deps;
    // A body without a length ends with the connection, and undici mistakes a reset for such an end.
    if (connection.socket.errored !== null) {
      this.#fail(connection.socket.errored);
      return;
    }
    this.#isReceived = true;
    // Counted before the connection has its next user.
    this.#countBytes(true);
    active.rest();
    pool.giveBack(connection);
    const raw = this.#gathered.take();
    if (this.#streamed !== null) this.#streamed.end();
    else if (this.#codings === null || this.#codings.length === 0) this.#answer(raw, raw.length);
    else {
      const inflated = inflate(raw, this.#codings, visit.limits.bytes);
      if (inflated.kind === 'inflated') this.#answer(inflated.body, inflated.body.length);
      else if (inflated.kind === 'failed') this.end(inflated);
      else {
        const streamed = this.#openStream(this.#codings);
        streamed.write(raw);
        streamed.end();
      }
    }
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (this.#tell === null) return;
    const { connection, method } = this.#deps;
    const wasSent = this.#controller !== null;
    const mayRepeat = !wasSent || method === 'GET' || method === 'HEAD';
    if (connection.isReused && !this.#hasBegun && mayRepeat && isLoss(error)) this.end({ kind: 'stale' });
    else this.#fail(error);
  }

  /** A request that is repeated because its connection was gone is one request, with bytes on two connections. */
  #countBytes(isRequest: boolean): void {
    const { usage, connection } = this.#deps;
    if (usage === null) return;
    if (isRequest && this.#controller !== null) usage.requests += 1;
    connection.bytes.addTo(usage);
  }

  #skipInformational(status: number): void {
    this.#informational += 1;
    if (status < 100) this.end(networkError(`the answer has the status ${status}, which does not exist`));
    else if (this.#informational > MAX_INFORMATIONAL) {
      this.end(networkError(`more than ${MAX_INFORMATIONAL} informational answers, and no other`));
    }
  }

  #gather(chunk: Uint8Array): void {
    const { limits } = this.#deps.visit;
    if (this.#codings === null) {
      const read = parseCodings(this.#headers['content-encoding']);
      if (read.kind === 'failed') {
        this.end(read);
        return;
      }
      this.#codings = read.codings.length === 0 && this.#isOpenedGzip(chunk) ? GZIP : read.codings;
    }
    this.#gathered.push(chunk);
    const isEncoded = this.#codings.length > 0;
    if (this.#sink !== null || (isEncoded && isLarge(this.#rawBytes))) {
      this.#stream(this.#openStream(this.#codings), this.#gathered.take());
    } else if (!isEncoded) {
      const over = overflow(this.#rawBytes, this.#rawBytes, limits.bytes);
      if (over !== null) this.end({ kind: 'failed', failure: over });
    }
  }

  /** `chunk` is the beginning of the body. No text begins with this byte. */
  #isOpenedGzip(chunk: Uint8Array): boolean {
    if (this.#deps.visit.opensGzip !== true || this.#sink !== null) return false;
    return chunk[0] === 0x1f && (chunk.length === 1 || chunk[1] === 0x8b);
  }

  #stream(streamed: StreamedBody, chunk: Uint8Array): void {
    if (streamed.write(chunk)) return;
    this.#controller?.pause();
    this.#deps.active.rest();
  }

  #openStream(codings: readonly Coding[]): StreamedBody {
    const { visit, active } = this.#deps;
    const streamed = new StreamedBody({
      codings,
      limit: visit.limits.bytes,
      sink: this.#sink,
      onDrain: () => {
        if (this.#tell === null || this.#isReceived) return;
        active.begin('body', visit.deadlines.silenceMs);
        this.#controller?.resume();
      },
    });
    this.#streamed = streamed;
    void streamed.ended.then((end) => {
      if (end.kind === 'done') this.#answer(end.body, end.bytes);
      else if (end.kind === 'failed') this.end(end);
      else this.end({ kind: 'thrown', error: end.error });
    });
    return streamed;
  }

  #answer(body: Uint8Array, bytes: number): void {
    const answer = { status: this.#status, headers: this.#headers, setCookie: this.#setCookie };
    this.end({ kind: 'answer', ...answer, body: this.#isDropped ? EMPTY : body, bytes, rawBytes: this.#rawBytes });
  }

  #failTooLong(): void {
    const limit = this.#deps.visit.limits.rawBytes;
    this.end({ kind: 'failed', failure: failure('too_large', `the body is larger than ${limit} bytes on the wire`) });
  }

  #fail(error: unknown): void {
    const what = translateError(error, this.#deps.visit.deadlines.connectMs);
    this.end({ kind: 'failed', failure: what, ...(isLoss(error) ? { isLost: true } : {}) });
  }
}

function networkError(message: string): { readonly kind: 'failed'; readonly failure: Failure } {
  return { kind: 'failed', failure: failure('network_error', message) };
}
