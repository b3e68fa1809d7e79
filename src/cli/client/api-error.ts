import { errorMessage } from '../../domain/error-message.ts';
import { EXIT } from '../exit-codes.ts';
import { printable } from '../format.ts';
import { TimedOut } from './deadline.ts';

/** What the API says when it says no. The server may be newer than this client: a code is any text. */
export interface Problem {
  readonly type?: string;
  readonly title?: string;
  readonly status: number;
  readonly code: string;
  readonly detail: string;
  readonly errors?: readonly { readonly path: string; readonly message: string }[];
}

/** What went wrong with the API, in words for the user of a command, and what the command answers to the shell. */
export class ApiError extends Error {
  readonly exitCode: number;
  /** For `--json`; null if it is not the API that said no. */
  readonly problem: Problem | null;

  constructor(message: string, exitCode: number = EXIT.badUsage, problem: Problem | null = null) {
    super(message);
    this.name = 'ApiError';
    this.exitCode = exitCode;
    this.problem = problem;
  }
}

/** The API could not be reached, or the connection broke off. */
export class Unreachable extends ApiError {
  /** Nobody listens: what was to be sent was not. */
  readonly isRefused: boolean;
  /** It may be otherwise in a moment. */
  readonly isPassing: boolean;

  constructor(url: string, error: unknown) {
    super(`cannot reach ${url} (${printable(reasonOf(error))}): is trawl serve running? TRAWL_URL says where`);
    this.name = 'Unreachable';
    this.isRefused = codeOf(error) === 'ECONNREFUSED';
    this.isPassing = error instanceof TimedOut || PASSING.includes(codeOf(error) ?? '');
  }
}

/** The API said no. */
export class Refused extends ApiError {
  readonly status: number;
  readonly code: string;

  constructor(problem: Problem) {
    super(problemText(problem), problem.status >= 500 ? EXIT.failed : EXIT.badUsage, problem);
    this.name = 'Refused';
    this.status = problem.status;
    this.code = problem.code;
  }
}

/** The user wants it to stop. */
export class Interrupted extends ApiError {
  constructor(message = 'interrupted') {
    super(message, EXIT.interrupted);
    this.name = 'Interrupted';
  }
}

const MAX_FIELDS = 20;

function problemText({ status, code, detail, errors = [] }: Problem): string {
  const rest = errors.length - MAX_FIELDS;
  return [
    printable(detail, 1000),
    ...errors.slice(0, MAX_FIELDS).map(({ path, message }) => {
      return `  ${path === '' ? '' : `${printable(path)}: `}${printable(message)}`;
    }),
    ...(rest > 0 ? [`  and ${rest} more`] : []),
    ...(status === 401 ? ['  set TRAWL_API_KEY to a key that the server knows'] : []),
    ...(code === 'forbidden' ? ['  set TRAWL_API_KEY to a key that may do more than read'] : []),
  ].join('\n');
}

const PASSING = [
  ...['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET', 'UND_ERR_BODY_TIMEOUT', 'UND_ERR_HEADERS_TIMEOUT'],
  ...['EAI_AGAIN', 'ETIMEDOUT', 'UND_ERR_CONNECT_TIMEOUT', 'EHOSTUNREACH', 'ENETUNREACH'],
];

const WORDS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'the connection was reset',
  EPIPE: 'the connection was closed',
  UND_ERR_SOCKET: 'the connection was closed',
  ENOTFOUND: 'there is no such host',
  EAI_AGAIN: 'the name of the host cannot be looked up',
  ETIMEDOUT: 'no connection within the time',
  UND_ERR_CONNECT_TIMEOUT: 'no connection within the time',
  EHOSTUNREACH: 'no way to the host',
  ENETUNREACH: 'no way to the network',
};

function reasonOf(error: unknown): string {
  const code = codeOf(error);
  if (code !== null && Object.hasOwn(WORDS, code)) return WORDS[code] ?? code;
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return errorMessage(cause);
}

/** Of the error or of what caused it: fetch wraps what the socket said. */
export function codeOf(error: unknown): string | null {
  if (!(error instanceof Error)) return null;
  if ('code' in error && typeof error.code === 'string') return error.code;
  // Every address of a name was tried.
  if (error instanceof AggregateError) return codeOf(error.errors[0]);
  return codeOf(error.cause);
}
