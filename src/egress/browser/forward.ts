import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Dispatcher } from 'undici';
import { type Failure, failure } from '../../domain/failure.ts';
import type { Counting } from '../../domain/usage.ts';
import type { Clock } from '../../ports/clock.ts';
import type { DeadlineWatch, Watched } from '../../ports/deadline-watch.ts';
import type { Connection } from '../connection-pool.ts';
import type { Target } from '../target.ts';
import { isLoss, translateError } from '../translate-error.ts';
import { hostOf, type VisitLine } from './visit-line.ts';

/** A plain request of the browser, on its way to the site. */
export interface Forwarding {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly target: Target;
  readonly line: VisitLine;
  readonly clock: Clock;
  readonly watch: DeadlineWatch;
}

/**
 * Forwards a plain request and its answer, both as they arrive. If there is no answer, the browser's connection is
 * closed, so that it reports an error: a page of ours would be taken for the site's.
 */
export async function forward(forwarding: Forwarding): Promise<void> {
  const { request, response, target, line } = forwarding;
  const hasBody = request.headers['content-length'] !== undefined || request.headers['transfer-encoding'] !== undefined;
  for (;;) {
    const connection = await line.plain(target);
    if ('kind' in connection || response.destroyed) {
      if (!('kind' in connection)) line.pool.giveBack(connection);
      response.destroy();
      return;
    }
    const end = await new Exchange(forwarding, connection, hasBody).ended;
    // An idle connection that the server has closed without beginning an answer.
    if (end !== 'stale') return;
  }
}

const HOP_BY_HOP: ReadonlySet<string> = new Set([
  ...['connection', 'keep-alive', 'proxy-connection', 'proxy-authorization', 'proxy-authenticate', 'te', 'trailer'],
  ...['transfer-encoding', 'upgrade'],
]);

function endToEnd(raw: readonly string[]): string[] {
  const kept: string[] = [];
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const name = raw[at] ?? '';
    if (!HOP_BY_HOP.has(name.toLowerCase())) kept.push(name, raw[at + 1] ?? '');
  }
  return kept;
}

class Exchange implements Dispatcher.DispatchHandler, Watched {
  readonly ended: Promise<'done' | 'stale'>;
  dueAt: number;
  readonly #forwarding: Forwarding;
  readonly #connection: Connection;
  readonly #usage: Counting | null;
  readonly #mayRepeat: boolean;
  readonly #onClose = () => this.#fail(null);
  #end: (end: 'done' | 'stale') => void = () => {};
  #controller: Dispatcher.DispatchController | null = null;
  #hasBegun = false;
  #isOver = false;

  constructor(forwarding: Forwarding, connection: Connection, hasBody: boolean) {
    const { request, response, target, line, clock, watch } = forwarding;
    const { promise, resolve } = Promise.withResolvers<'done' | 'stale'>();
    this.ended = promise;
    this.#end = resolve;
    this.#forwarding = forwarding;
    this.#connection = connection;
    this.#usage = line.usageOf(hostOf(target));
    this.#mayRepeat = connection.isReused && !hasBody;
    this.dueAt = clock.elapsed() + line.visit.deadlines.firstByteMs;
    watch.add(this);
    response.once('close', this.#onClose);
    const via = connection.via?.forwardHeaders ?? null;
    const path = target.url.slice(target.origin.length);
    connection.client.dispatch(
      {
        method: (request.method ?? 'GET') as Dispatcher.HttpMethod,
        path: via === null ? path : `${line.originFor(target)}${path}`,
        headers: [...endToEnd(request.rawHeaders), ...(via ?? [])],
        body: hasBody ? request : null,
      },
      this,
    );
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    parsed: Readonly<Record<string, string | string[] | undefined>>,
  ): void {
    if (this.#isOver || status < 200) return;
    this.#hasBegun = true;
    const headers = Object.fromEntries(Object.entries(parsed).map(([name, value]) => [name, String(value)]));
    const said = this.#connection.via?.judge(status, headers) ?? null;
    if (said !== null) {
      this.#fail(said);
      return;
    }
    if (this.#usage !== null && status === 429) this.#usage.refused += 1;
    if (this.#usage !== null && status === 403) this.#usage.blocked += 1;
    const raw = (controller.rawHeaders as readonly (Buffer | string)[]).map((part) =>
      typeof part === 'string' ? part : part.toString('latin1'),
    );
    const { response, clock, line } = this.#forwarding;
    this.dueAt = clock.elapsed() + line.visit.deadlines.silenceMs;
    response.writeHead(status, endToEnd(raw));
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#isOver) return;
    const { response, clock, line, target } = this.#forwarding;
    line.receive(chunk.length, hostOf(target));
    if (line.signal.aborted) {
      this.#fail(null);
      return;
    }
    this.dueAt = clock.elapsed() + line.visit.deadlines.silenceMs;
    if (response.write(chunk)) return;
    controller.pause();
    // The browser is slow now, not the site.
    this.dueAt = Number.POSITIVE_INFINITY;
    response.once('drain', () => {
      this.dueAt = clock.elapsed() + line.visit.deadlines.silenceMs;
      this.#forwarding.watch.hasMoved(this);
      controller.resume();
    });
  }

  onResponseEnd(): void {
    if (this.#isOver) return;
    this.#settle(true);
    const { response, line } = this.#forwarding;
    line.pool.giveBack(this.#connection);
    response.end();
    this.#end('done');
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (this.#isOver) return;
    if (this.#mayRepeat && !this.#hasBegun && isLoss(error)) {
      this.#settle(false);
      this.#connection.destroy();
      this.#end('stale');
      return;
    }
    this.#fail(translateError(error, this.#forwarding.line.visit.deadlines.connectMs));
  }

  expire(): void {
    const { deadlines } = this.#forwarding.line.visit;
    const message = this.#hasBegun
      ? `nothing more of the body within ${deadlines.silenceMs} ms`
      : `no answer within ${deadlines.firstByteMs} ms`;
    this.#fail(failure('timeout', message));
  }

  /** `what` is null if the browser or the visit ended it. */
  #fail(what: Failure | null): void {
    if (this.#isOver) return;
    this.#settle(true);
    const { response, line, target } = this.#forwarding;
    if (what !== null && !line.signal.aborted) line.note(hostOf(target), what);
    this.#connection.destroy();
    response.destroy();
    this.#end('done');
  }

  #settle(isRequest: boolean): void {
    this.#isOver = true;
    const { response, watch } = this.#forwarding;
    watch.remove(this);
    response.off('close', this.#onClose);
    if (this.#usage === null) return;
    if (isRequest && this.#controller !== null) this.#usage.requests += 1;
    this.#connection.bytes.addTo(this.#usage);
  }
}
