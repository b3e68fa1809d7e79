import {
  type ApiError,
  Damaged,
  Interrupted,
  NotTrawl,
  Refused,
  Unreachable,
} from '../../contract/client/api-error.ts';
import type { ProblemAnswer } from '../../contract/problem-answer.ts';
import { EXIT } from '../exit-codes.ts';
import { printable } from '../format.ts';

/** Ends a command with a message for its user and an exit code for the shell. */
export class CommandFailed extends Error {
  readonly exitCode: number;
  /** For `--json`; null if the failure is not an answer of the API. */
  readonly problem: ProblemAnswer | null;

  constructor(message: string, exitCode: number = EXIT.badUsage, problem: ProblemAnswer | null = null) {
    super(message);
    this.name = 'CommandFailed';
    this.exitCode = exitCode;
    this.problem = problem;
  }

  /** The failure of a call, with what the user can do about it. `more` follows the message on a line of its own. */
  static of(error: ApiError, more = ''): CommandFailed {
    const problem = error instanceof Refused ? error.problem : null;
    return new CommandFailed(`${errorText(error)}${more === '' ? '' : `\n${more}`}`, exitCodeOfError(error), problem);
  }
}

export function exitCodeOfError(error: ApiError): number {
  if (error instanceof Interrupted) return EXIT.interrupted;
  if (error instanceof Damaged) return EXIT.failed;
  return error instanceof Refused && error.status >= 500 ? EXIT.failed : EXIT.badUsage;
}

/** What went wrong, safe to show on a terminal. */
export function errorText(error: ApiError): string {
  if (error instanceof Refused) return problemText(error.problem);
  const text = printable(error.message);
  if (error instanceof Unreachable) return `${text}. Is trawl serve running there? Set TRAWL_URL to its address`;
  return error instanceof NotTrawl ? `${text}. Set TRAWL_URL to the address of the API` : text;
}

const MAX_FIELDS = 20;

function problemText({ status, code, detail, errors = [] }: ProblemAnswer): string {
  const rest = errors.length - MAX_FIELDS;
  return [
    printable(detail, 1000),
    ...errors.slice(0, MAX_FIELDS).map(({ path, message }) => {
      return `  ${path === '' ? '' : `${printable(path)}: `}${printable(message)}`;
    }),
    ...(rest > 0 ? [`  and ${rest} more`] : []),
    ...(status === 401 ? ['  set TRAWL_API_KEY to a key that the server accepts'] : []),
    ...(code === 'forbidden' ? ['  set TRAWL_API_KEY to a key that is not read-only'] : []),
  ].join('\n');
}
