import type { Failure } from '../domain/failure.ts';
import type { GeoTarget } from '../domain/proxy-policy.ts';
import type { Counting } from '../domain/usage.ts';
import type { HostGate } from '../ports/host-gate.ts';

/**
 * The way to the web for all of our clients: every request to a target goes through `send`. It enters the host's gate,
 * resolves the address once, checks it, dials only that address, follows redirects under the same rules, and applies every
 * limit while the bytes arrive, not after.
 */
export interface Web {
  /**
   * The answer at the end of the redirects, whatever its status, or why there is none. It never rejects because of the
   * network or the server. It rejects with the signal's reason when `visit.signal` aborts, with HostHeld when a host is
   * paused for longer than `visit.patienceMs`, and with whatever `visit.checkHost`, `visit.checkUrl` or the sink throws.
   */
  send(request: WebRequest, visit: Visit): Promise<WebAnswer | WebFailed>;
}

export interface WebRequest {
  readonly method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Absolute, http or https. */
  readonly url: string;
  /** Lower-case names. Host, Connection, Content-Length and Cookie are not the caller's to set. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array | null;
}

/** What is the same for all requests of one try at an item. */
export interface Visit {
  readonly cookies: CookieBook;
  readonly deadlines: Deadlines;
  readonly limits: Limits;
  readonly exit: Exit;
  /** Where its requests and bytes are counted; absent if they are not. */
  readonly usage?: HostUsage;
  /** Called before each hop, with `host` or `host:port` as in the URL. If it throws, the send ends with that error. */
  readonly checkHost: (host: string) => void;
  /**
   * Called before each hop, after `checkHost`. If it rejects, the send ends with that error. Waiting for it is treated
   * like waiting at the gate.
   */
  readonly checkUrl?: (url: string) => Promise<void>;
  /** Entered before each hop and left after it. Waiting there does not count towards the deadlines. */
  readonly gate: HostGate;
  /** The longest pause of a host to wait for. */
  readonly patienceMs: number;
  /** Where the body goes, decided when the headers have arrived; null keeps it in memory as `body`. */
  readonly sink: ((head: AnswerHead) => BodySink | null) | null;
  /**
   * Whether a body that is itself a gzip file is unpacked, as if that were its content coding. For visits that read text:
   * many sitemaps are such files.
   */
  readonly opensGzip?: true;
  readonly signal: AbortSignal;
}

/**
 * How the connections of a visit are made: by which dialer, and for which session. A connection is only shared by
 * visits with the same of both; the dialer decides which sessions count as the same.
 */
export interface Exit {
  /**
   * One of the web's dialers. A visit that names an unknown one fails as `proxy_config`: it is never sent another way.
   */
  readonly dialer: string;
  /**
   * Different sessions should look like different visitors, as far as the dialer can do that. The sessions of one
   * visitor end with a number, and the next number selects the next way out if there are several.
   */
  readonly session: string;
  /** Where the visitor should appear to be; absent for anywhere. */
  readonly geo?: GeoTarget;
}

/** Counters by host (`host` or `host:port` as in the URL), which egress increments as bytes are sent and received. */
export interface HostUsage {
  of(host: string): Counting;
}

/** Cookies of one visitor. They are requested for each hop, so that none is sent where it does not belong. */
export interface CookieBook {
  /** The Cookie header for this URL; null for none. */
  header(url: string): string | null;
  keep(url: string, setCookie: readonly string[]): void;
}

export interface Deadlines {
  readonly connectMs: number;
  /** From sending the request to the end of the answer's headers: a server that drips them gains nothing. */
  readonly firstByteMs: number;
  /** Between two pieces of the body. */
  readonly silenceMs: number;
  /** For the whole send, including redirects; waiting at a host's gate is not counted. */
  readonly totalMs: number;
}

export interface Limits {
  /** Size of the body on the wire. */
  readonly rawBytes: number;
  /** Size of the body after inflating. */
  readonly bytes: number;
  readonly redirects: number;
}

export const DEFAULT_LIMITS: Limits = { rawBytes: 32 << 20, bytes: 32 << 20, redirects: 10 };

export interface AnswerHead {
  readonly status: number;
  /** Lower-case names; repeated ones are joined by `, `, except for Set-Cookie, which went to the cookie book. */
  readonly headers: Readonly<Record<string, string>>;
  /** URL of the hop that gave this answer. */
  readonly url: string;
}

/** Takes an inflated body piece by piece; the next piece waits for the promise. */
export interface BodySink {
  write(chunk: Uint8Array): Promise<void>;
}

export interface WebAnswer extends AnswerHead {
  readonly kind: 'answer';
  /** Inflated; empty if it went to a sink. */
  readonly body: Uint8Array;
  /** Every hop before this answer, in order. */
  readonly redirects: readonly Redirect[];
  /** Inflated size, including what went to a sink. */
  readonly bytes: number;
  readonly rawBytes: number;
  readonly ms: number;
}

export interface Redirect {
  readonly url: string;
  readonly status: number;
}

/** `url` is where it failed: the hop, not the request. */
export interface WebFailed {
  readonly kind: 'failed';
  readonly failure: Failure;
  readonly url: string;
  readonly redirects: readonly Redirect[];
  readonly ms: number;
  /** The connection was lost before the answer was complete: the same request may well succeed next time. */
  readonly isLost?: true;
}
