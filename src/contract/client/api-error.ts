import { errorCode } from '../../domain/error-code.ts';
import type { ProblemAnswer } from '../problem-answer.ts';
import { TimedOut } from './deadline.ts';

/**
 * What went wrong with a call to the API, as one of the kinds below. Messages may quote the server: a program that shows
 * them on a terminal must make them printable.
 */
export class ApiError extends Error {
  override name = 'ApiError';
}

/** The API could not be reached, or the connection broke. */
export class Unreachable extends ApiError {
  readonly url: string;
  /** For example `connection refused`. */
  readonly reason: string;
  /** Nothing listens there, so the request never arrived. */
  readonly isRefused: boolean;
  /** Whether trying again may help. */
  readonly isTransient: boolean;

  constructor(url: string, error: unknown) {
    const reason = networkReason(error);
    super(`cannot reach ${url} (${reason})`);
    this.name = 'Unreachable';
    this.url = url;
    this.reason = reason;
    this.isRefused = networkCode(error) === 'ECONNREFUSED';
    this.isTransient = error instanceof TimedOut || TRANSIENT.includes(networkCode(error) ?? '');
  }
}

/** The API answered with a problem. */
export class Refused extends ApiError {
  readonly problem: ProblemAnswer;
  readonly status: number;
  readonly code: string;

  constructor(problem: ProblemAnswer) {
    super(problem.detail);
    this.name = 'Refused';
    this.problem = problem;
    this.status = problem.status;
    this.code = problem.code;
  }
}

/** Something other than the API answered, such as a proxy. */
export class NotTrawl extends ApiError {
  readonly url: string;

  constructor(url: string) {
    super(`${url} did not answer with JSON: it does not seem to be a Trawl server`);
    this.name = 'NotTrawl';
    this.url = url;
  }
}

/** What arrived is not what the server stores. */
export class Damaged extends ApiError {
  override name = 'Damaged';
}

/** The signal of the client aborted. */
export class Interrupted extends ApiError {
  constructor() {
    super('interrupted');
    this.name = 'Interrupted';
  }
}

const TRANSIENT = [
  ...['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET', 'UND_ERR_BODY_TIMEOUT', 'UND_ERR_HEADERS_TIMEOUT'],
  ...['EAI_AGAIN', 'ETIMEDOUT', 'UND_ERR_CONNECT_TIMEOUT', 'EHOSTUNREACH', 'ENETUNREACH'],
];

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset',
  EPIPE: 'connection closed',
  UND_ERR_SOCKET: 'connection closed',
  ENOTFOUND: 'host not found',
  EAI_AGAIN: 'host name lookup failed',
  ETIMEDOUT: 'connection timed out',
  UND_ERR_CONNECT_TIMEOUT: 'connection timed out',
  EHOSTUNREACH: 'host unreachable',
  ENETUNREACH: 'network unreachable',
};

function networkReason(error: unknown): string {
  const code = networkCode(error);
  if (code !== null && Object.hasOwn(REASONS, code)) return REASONS[code] ?? code;
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return cause instanceof Error ? cause.message : String(cause);
}

/** The code of the error or of its cause: fetch wraps the socket's error. */
export function networkCode(error: unknown): string | null {
  if (!(error instanceof Error)) return null;
  // All addresses of a name were tried.
  const inner = error instanceof AggregateError ? error.errors[0] : error.cause;
  return errorCode(error) ?? networkCode(inner);
}
