import { type Failure, failure } from '../../domain/failure.ts';
import type { Counting } from '../../domain/usage.ts';
import type { Clock } from '../../ports/clock.ts';
import { HostHeld } from '../../ports/host-gate.ts';
import { type Connection, ConnectionPool } from '../connection-pool.ts';
import type { Dialled } from '../dialer.ts';
import { noDialer, type Reach } from '../reach.ts';
import { type Endpoint, endpointOrigin } from '../routes.ts';
import type { Target } from '../target.ts';
import { translateError } from '../translate-error.ts';
import type { BrowserVisit } from './browser-visit.ts';

/** A request repeated this soon counts as the same failure: Chromium repeats some requests by itself. */
const FRESH_MS = 1000;

/** A page that contacts a thousand hosts must not fill the memory with their failures. */
const MAX_FAILURES = 100;

export interface LineDeps {
  readonly reach: Reach;
  readonly clock: Clock;
  /** Why this browser must not contact a host; null if it may. */
  readonly refusesHost: (hostname: string) => string | null;
}

/**
 * Everything that goes out for one visit of a browser: its connections, their traffic, and what has failed. When the
 * visit ends, no connection is left.
 */
export class VisitLine {
  readonly visit: BrowserVisit;
  readonly pool = new ConnectionPool();
  readonly #deps: LineDeps;
  readonly #stopped = new AbortController();
  readonly #exceeded = new AbortController();
  readonly #failures = new Map<string, { readonly failure: Failure; readonly at: number }>();
  readonly #onAbort: () => void;
  #received = 0;
  #isOver = false;

  constructor(visit: BrowserVisit, deps: LineDeps) {
    this.visit = visit;
    this.#deps = deps;
    this.#onAbort = () => void this.end();
    visit.signal.addEventListener('abort', this.#onAbort, { once: true });
    if (visit.signal.aborted) void this.end();
  }

  /** Aborts when the visit is over. */
  get signal(): AbortSignal {
    return this.#stopped.signal;
  }

  /** Aborts when more has come than the visit may receive. */
  get exceeded(): AbortSignal {
    return this.#exceeded.signal;
  }

  usageOf(host: string): Counting | null {
    return this.visit.usage?.of(host) ?? null;
  }

  /** Opens a new connection for the target. Failures are remembered. */
  async connect(target: Target, isTunnel: boolean): Promise<Dialled> {
    const host = hostOf(target);
    const known = this.#failures.get(host);
    if (known !== undefined && this.#deps.clock.elapsed() - known.at < FRESH_MS) {
      return { kind: 'failed', failure: known.failure };
    }
    const dialled = await this.#connect(target, host, isTunnel);
    if (dialled.kind === 'connected') this.#failures.delete(host);
    else if (!this.signal.aborted) this.note(host, dialled.failure);
    return dialled;
  }

  async #connect(target: Target, host: string, isTunnel: boolean): Promise<Dialled> {
    const { reach, refusesHost } = this.#deps;
    const { exit, deadlines } = this.visit;
    try {
      this.signal.throwIfAborted();
      const refused = refusesHost(target.hostname);
      if (refused !== null) return { kind: 'failed', failure: failure('refused_address', refused) };
      await this.#waitForPause(host);
      const dialer = reach.dialer(exit.dialer);
      if (dialer === null) return { kind: 'failed', failure: noDialer(exit.dialer) };
      const endpoint = reach.endpoint(target);
      if (isTunnel && isPlainInstead(target, endpoint)) return { kind: 'failed', failure: plainInstead(target) };
      const way = { target, endpoint, dialer, exit, connectMs: deadlines.connectMs, usage: this.usageOf(host) };
      const dialled = await reach.connect({ ...way, isTunnel }, this.signal);
      if (dialled.kind === 'connected' && this.signal.aborted) dialled.socket.destroy();
      this.signal.throwIfAborted();
      return dialled;
    } catch (error) {
      if (this.signal.aborted) return { kind: 'failed', failure: OVER };
      if (error instanceof HostHeld) {
        return { kind: 'failed', failure: failure('rate_limited', error.message, { retryAfterMs: error.ms }) };
      }
      return { kind: 'failed', failure: translateError(error, deadlines.connectMs) };
    }
  }

  /** Documents wait at the gate; everything else a page loads only keeps away from paused hosts. */
  async #waitForPause(host: string): Promise<void> {
    const { gate, patienceMs } = this.visit;
    const pause = gate.pauseOf(host);
    if (pause === null) return;
    if (pause.ms > patienceMs) throw new HostHeld(host, pause.ms, pause.reason);
    await this.#deps.clock.sleep(pause.ms, this.signal);
    this.signal.throwIfAborted();
  }

  /** A connection for plain requests to this target: an idle or a new one. */
  async plain(target: Target): Promise<Connection | { readonly kind: 'failed'; readonly failure: Failure }> {
    const idle = this.pool.take(target.origin);
    if (idle !== null) return idle;
    const dialled = await this.connect(target, false);
    if (dialled.kind === 'failed') return dialled;
    return this.pool.add(target.origin, target.origin, dialled.socket, dialled.via ?? null);
  }

  /** The origin that a forwarding proxy must be asked for, without the path. */
  originFor(target: Target): string {
    return endpointOrigin(this.#deps.reach.endpoint(target));
  }

  /** This many bytes have arrived. Beyond the limit, the visit is over for the browser. */
  receive(bytes: number, host: string): void {
    this.#received += bytes;
    if (this.#received <= this.visit.maxBytes || this.#isOver) return;
    this.#isOver = true;
    const message = `the pages of this item are larger than ${this.visit.maxBytes} bytes on the wire`;
    this.note(host, failure('too_large', message));
    this.#stopped.abort(new Error(message));
    this.#exceeded.abort(new Error(message));
  }

  note(host: string, what: Failure): void {
    this.#failures.delete(host);
    this.#failures.set(host, { failure: what, at: this.#deps.clock.elapsed() });
    const [oldest] = this.#failures.keys();
    if (this.#failures.size > MAX_FAILURES && oldest !== undefined) this.#failures.delete(oldest);
  }

  /** Why nothing arrives from this host; null if nothing has failed there. */
  failureAt(host: string): Failure | null {
    const tooLarge = this.#isOver ? [...this.#failures.values()].at(-1)?.failure : undefined;
    return this.#failures.get(host)?.failure ?? tooLarge ?? null;
  }

  async end(): Promise<void> {
    this.visit.signal.removeEventListener('abort', this.#onAbort);
    this.#stopped.abort(new Error('the visit is over'));
    await this.pool.close();
  }
}

const OVER = failure('network_error', 'the visit is over');

/** `host` or `host:port` as in the URL. */
export function hostOf({ origin, protocol }: Target): string {
  return origin.slice(protocol.length + 2);
}

/** The browser encrypts what it sends to an https origin, which a server for plain HTTP cannot read. */
function isPlainInstead({ protocol }: Target, endpoint: Endpoint): boolean {
  return protocol === 'https:' && endpoint.protocol === 'http:';
}

function plainInstead({ origin }: Target): Failure {
  const what = `TRAWL_ROUTES maps ${origin} to a server without TLS, which a browser cannot use`;
  return failure('refused_address', `${what}; map it to an https origin`);
}
