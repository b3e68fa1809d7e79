import { errorCode } from './error-code.ts';

/**
 * An error in the form for a log: its name, message and stack. Other fields are left out, because those of foreign
 * errors may contain anything (a request with its headers, an address with a password), and anything in its texts that
 * looks like a secret is masked.
 */
interface LoggedError {
  readonly type: string;
  readonly message: string;
  readonly stack?: string;
  readonly code?: string;
  readonly cause?: LoggedError;
}

const MAX_MESSAGE = 2000;
const MAX_STACK = 4000;
const MAX_CAUSES = 4;

export function describeError(error: unknown, causes = 0): LoggedError {
  if (!(error instanceof Error)) return { type: typeof error, message: clean(String(error), MAX_MESSAGE) };
  const { name, message, stack, cause } = error;
  const code = errorCode(error);
  return {
    type: name,
    message: clean(message, MAX_MESSAGE),
    ...(typeof stack === 'string' ? { stack: clean(stack, MAX_STACK) } : {}),
    ...(code === null ? {} : { code }),
    ...(cause === undefined || cause === null || causes >= MAX_CAUSES
      ? {}
      : { cause: describeError(cause, causes + 1) }),
  };
}

const SECRETS: readonly (readonly [RegExp, string])[] = [
  // http://user:password@proxy
  [/(\w:\/\/)[^\s/@"']+@/g, '$1***@'],
  // Authorization: Basic …, "x-api-key": "…", password=…
  [
    /\b((?:proxy-)?authorization|x-api-key|api[-_]?key|passw(?:or)?d|secret|(?:set-)?cookie)(["']?\s*[:=]\s*["']?)(?:(?:basic|bearer|digest)\s+)?[^\s"',;}]+/gi,
    '$1$2***',
  ],
  [/\b(bearer)\s+[\w+/.~-]{8,}=*/gi, '$1 ***'],
];

/** The text with everything that looks like a secret masked. */
export function withoutSecrets(text: string): string {
  return SECRETS.reduce((cleaned, [pattern, instead]) => cleaned.replaceAll(pattern, instead), text);
}

/** Cut first: a pattern must not scan a megabyte. */
function clean(text: string, max: number): string {
  return withoutSecrets(text.slice(0, max));
}
