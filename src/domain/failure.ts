import { errorCode } from './error-code.ts';

/**
 * The closed list of what can go wrong with an item, sorted by what happens next. Foreign errors are translated into
 * one of these at the border where they appear; anything without a type of its own is `unexpected`, and is blamed on us.
 */

/** What a retry must do differently, or that there is none. */
type RetryRule =
  | 'counted' // try again after the usual backoff
  | 'new-identity' // … with another identity: other cookies, other exit address
  | 'new-proxy-session' // … through another proxy session
  | 'after-hint' // … not before the time the site named
  | 'late' // … after the longest backoff: the site is down on purpose
  | 'never'
  | 'stops-the-job'; // retrying any item would fail the same way and may cost money

interface FailureRule {
  readonly retry: RetryRule;
  readonly blame: 'target' | 'network' | 'proxy' | 'config' | 'input' | 'scraper' | 'us';
  /** Whether it is held against the site, and so counts for the circuit breaker. */
  readonly breaker: boolean;
  /** Whether the site asked us, in one way or another, to go slower. */
  readonly refusal: boolean;
  readonly when: string;
}

export const FAILURES = {
  timeout: rule('counted', 'target', true, 'connect, response or page took too long'),
  network_error: rule('counted', 'network', true, 'DNS, refused, reset, TLS'),
  server_error: rule('counted', 'target', true, '5xx from the target'),
  blocked: rule('new-identity', 'target', true, '401/403/challenge/captcha page, also behind HTTP 200', true),
  rate_limited: rule('after-hint', 'target', true, '429, or 503 with Retry-After', true),
  maintenance: rule('late', 'target', true, 'the site says so'),
  proxy_error: rule('new-proxy-session', 'proxy', false, 'the proxy, not the target'),
  proxy_config: rule('stops-the-job', 'config', false, 'credentials, policy, unknown city; a secret that is not set'),
  structure_changed: rule(
    'never',
    'scraper',
    true,
    'an expected element or field is missing, or the site no longer accepts such a request',
  ),
  navigation_failed: rule('counted', 'target', true, "did not reach the target page, or reached another item's page"),
  no_results: rule('never', 'input', false, 'the site says there is no such property'),
  not_found: rule('never', 'input', false, '404/410'),
  invalid_input: rule('never', 'input', false, "the input breaks the scraper's schema"),
  invalid_output: rule('never', 'scraper', true, "extracted data breaks the scraper's output schema"),
  too_large: rule('never', 'input', false, 'over a size or depth limit'),
  refused_address: rule('never', 'input', false, 'the address is not allowed (private network …)'),
  poison: rule('never', 'us', true, 'killed its worker three times'),
  unexpected: rule('counted', 'us', true, 'anything else: a bug until it has a name'),
} as const satisfies Record<string, FailureRule>;

export type FailureType = keyof typeof FAILURES;

export const FAILURE_TYPES = Object.keys(FAILURES) as FailureType[];

export interface Failure {
  readonly type: FailureType;
  readonly message: string;
  /** The message of the underlying error. */
  readonly cause: string | null;
  /** How long the site asked us to wait. */
  readonly retryAfterMs: number | null;
  /** Layout of the page on which it was seen (`page-layout.ts`). Set only if there was a page. */
  readonly page?: string;
  /** Kind of address at which it was seen (`url-pattern.ts`). Set only if something was requested. */
  readonly place?: string;
  /** Set only for an item that failed at a step of a recording. */
  readonly step?: FailedStep;
}

/** A step of a recording, as failures name it. */
export interface FailedStep {
  /** `4`, or `4.then.2` for a step inside of another one. */
  readonly path: string;
  /** What it does: `click "Search"`. */
  readonly label: string;
}

export const MAX_STEP_PATH_LENGTH = 120;
export const MAX_STEP_LABEL_LENGTH = 80;

/** Messages end up in the ledger, in manifests and on terminals: a whole page in one of them would harm all three. */
export const MAX_MESSAGE_LENGTH = 1000;

export function failure(
  type: FailureType,
  message: string,
  more: { cause?: unknown; retryAfterMs?: number | null; page?: string | null; step?: FailedStep | null } = {},
): Failure {
  return {
    type,
    message: clip(message),
    cause: more.cause === undefined || more.cause === null ? null : clip(describe(more.cause)),
    retryAfterMs: more.retryAfterMs ?? null,
    ...(more.page === undefined || more.page === null ? {} : { page: clip(more.page) }),
    ...(more.step === undefined || more.step === null ? {} : { step: clipStep(more.step) }),
  };
}

/** The form in results, manifests and answers. */
export function presentFailure({ type, message, cause }: Failure) {
  return { type, message, retryable: isRetryable(type), cause };
}

export function isRetryable(type: FailureType): boolean {
  const { retry } = FAILURES[type];
  return retry !== 'never' && retry !== 'stops-the-job';
}

function describe(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  const code = errorCode(cause);
  return `${cause.name}: ${cause.message}${code === null ? '' : ` [${code}]`}`;
}

/** A lone surrogate, created by the cut or sent by a site, would not survive the database unchanged. */
function clip(text: string, most = MAX_MESSAGE_LENGTH): string {
  const short = text.length <= most ? text : `${text.slice(0, most - 1)}…`;
  return short.toWellFormed();
}

/** Also for texts that do not come from a failure: they must be the same wherever the step is named. */
export function clipStep({ path, label }: FailedStep): FailedStep {
  return { path: clip(path, MAX_STEP_PATH_LENGTH), label: clip(label, MAX_STEP_LABEL_LENGTH) };
}

function rule(
  retry: RetryRule,
  blame: FailureRule['blame'],
  breaker: boolean,
  when: string,
  refusal = false,
): FailureRule {
  return { retry, blame, breaker, refusal, when };
}
