import type { Failure } from '../domain/failure.ts';

/**
 * The way to the web, for every client we have: whatever goes to a target goes through `send`. It resolves the address
 * once, checks it, dials that address and no other, follows redirects under the same rules, and keeps every limit while
 * the bytes arrive, not after.
 */
export interface Web {
  /**
   * The answer at the end of the redirects, whatever its status, or why there is none. It never rejects for what the
   * network or the server did. When `visit.signal` aborts, it rejects with the signal's reason.
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

/** What holds for all requests of one item. */
export interface Visit {
  readonly cookies: CookieBook;
  readonly deadlines: Deadlines;
  readonly limits: Limits;
  /** Asked before each hop, with `host` or `host:port` as in the URL: waits for a turn there, answers how to end it. */
  readonly turn: (host: string) => Promise<() => void>;
  /** Where the body goes, decided when the headers are here; null keeps it in memory as `body`. */
  readonly sink: ((head: AnswerHead) => BodySink | null) | null;
  readonly signal: AbortSignal;
}

/** Cookies of one visitor. They are asked for anew at each hop, so that none goes where it does not belong. */
export interface CookieBook {
  /** The Cookie header for this URL; null for none. */
  header(url: string): string | null;
  keep(url: string, setCookie: readonly string[]): void;
}

export interface Deadlines {
  readonly connectMs: number;
  /** From the request sent to the end of the answer's headers: a server that drips them gains nothing. */
  readonly firstByteMs: number;
  /** Between two pieces of the body. */
  readonly silenceMs: number;
  /** For the whole of it, redirects included; waiting for a turn is not counted. */
  readonly totalMs: number;
}

export interface Limits {
  /** Of the body as it comes over the wire. */
  readonly rawBytes: number;
  /** Of the body once it is inflated. */
  readonly bytes: number;
  readonly redirects: number;
}

export const DEFAULT_LIMITS: Limits = { rawBytes: 32 << 20, bytes: 32 << 20, redirects: 10 };

export interface AnswerHead {
  readonly status: number;
  /** Lower-case names; several of one name are joined by `, `, but for Set-Cookie, which went to the cookie book. */
  readonly headers: Readonly<Record<string, string>>;
  /** Of the hop that gave this answer. */
  readonly url: string;
}

/** Takes a body piece by piece, inflated; the next piece waits for the promise. */
export interface BodySink {
  write(chunk: Uint8Array): Promise<void>;
}

export interface WebAnswer extends AnswerHead {
  readonly kind: 'answer';
  /** Inflated; empty if it went to a sink. */
  readonly body: Uint8Array;
  /** Every hop before this answer, in order. */
  readonly redirects: readonly Redirect[];
  /** Inflated size, also of what went to a sink. */
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
}
