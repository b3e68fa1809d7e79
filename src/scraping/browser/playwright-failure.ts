import { type Failure, type FailureType, failure } from '../../domain/failure.ts';

/** What is known about the browser when one of its calls has failed. */
export interface BrowserState {
  /** The browser has ended, or the connection to it is lost. */
  readonly isGone: boolean;
  /** The process of the page has crashed. */
  readonly isCrashed: boolean;
}

/** How an error of Playwright is recorded, and whether the page may say more than the error does. */
export interface Translated {
  readonly failure: Failure;
  /** Something was looked for and not found in time. */
  readonly isAbsence: boolean;
}

/**
 * An error of Playwright as an entry of the failure table; null if it is not one of Playwright's. Playwright has two
 * classes of errors, and everything else is in their messages: only this file reads them.
 */
export function translatePlaywright(error: unknown, { isGone, isCrashed }: BrowserState): Translated | null {
  if (!(error instanceof Error)) return null;
  const text = plainText(error.message);
  const what = firstLine(text);
  const say = (type: FailureType, message: string): Translated => {
    return { failure: failure(type, message, { cause: what }), isAbsence: false };
  };
  if (CLOSED.test(text) || isGone || isCrashed || CRASHED.test(text)) {
    if (isGone) return say('unexpected', 'the browser ended while it was in use');
    if (isCrashed || CRASHED.test(text)) return say('unexpected', 'the page crashed in the browser');
    return say('navigation_failed', 'the page was closed while it was in use');
  }
  const net = /net::(ERR_[A-Z0-9_]+)/.exec(text)?.[1];
  if (net !== undefined) return say(networkFailure(net), `${describeNetwork(net)} (${addressIn(text) ?? net})`);
  if (/Download is starting/i.test(text)) {
    return say('navigation_failed', 'a document came instead of a page: tab.download keeps it');
  }
  if (error.name === 'TimeoutError') return timedOut(text, what);
  if (/strict mode violation/.test(text)) {
    return say('structure_changed', `more than one element fits: ${what.replace(/^.*strict mode violation:\s*/, '')}`);
  }
  if (ELSEWHERE.test(text)) {
    return say('navigation_failed', 'the page went elsewhere while it was read');
  }
  return null;
}

const ELSEWHERE =
  /Execution context was destroyed|frame was detached|is interrupted by another navigation|is navigating and changing the content/i;

const CLOSED =
  /(?:Target page, context or browser|Target|Page|Browser|Context) (?:has been )?closed|browser has disconnected/i;
const CRASHED = /(?:Page|Target) crashed/;

/** Whether a call failed because its page, or all of the browser, is gone. */
export function isClosedError(error: unknown): boolean {
  return error instanceof Error && CLOSED.test(error.message);
}

/** Waiting for a page is waiting for the site; waiting for an element is expecting one. */
function timedOut(text: string, what: string): Translated {
  const ms = /Timeout (\d+)ms exceeded/.exec(text)?.[1];
  const after = ms === undefined ? 'in time' : `within ${Number(ms) / 1000} s`;
  const cause = { cause: what };
  if (/^\S*waitForURL:/.test(text)) {
    const message = `the page that was waited for did not come ${after}`;
    return { failure: failure('navigation_failed', message, cause), isAbsence: true };
  }
  const locator = /waiting for ((?:locator|getBy\w+|frameLocator)\(.*|selector ".*")/.exec(text)?.[1];
  if (locator === undefined || /\.goto:|waitForLoadState|waitForResponse|waitForRequest|waitForEvent/.test(text)) {
    return { failure: failure('timeout', `${what.replace(/:.*$/, '')} did not end ${after}`, cause), isAbsence: false };
  }
  // It exists, but never became usable: visible, enabled, uncovered.
  if (/locator resolved to|resolved to (?:visible|hidden)/.test(text)) {
    const why = obstacleIn(text);
    const message = `${locator} could not be used ${after}${why === null ? '' : `: ${why}`}`;
    return { failure: failure('timeout', message, cause), isAbsence: false };
  }
  return { failure: failure('structure_changed', `${locator} did not appear ${after}`, cause), isAbsence: true };
}

function obstacleIn(text: string): string | null {
  const [found] =
    /element is not (?:visible|enabled|stable|editable)|intercepts pointer events|outside of the viewport/.exec(
      text,
    ) ?? [null];
  return found === 'intercepts pointer events' ? 'another element covers it' : found;
}

const REFUSED = [
  'ERR_BLOCKED_BY_CLIENT',
  'ERR_BLOCKED_BY_ADMINISTRATOR',
  'ERR_UNSAFE_PORT',
  'ERR_DISALLOWED_URL_SCHEME',
];
const TIMED_OUT = ['ERR_TIMED_OUT', 'ERR_CONNECTION_TIMED_OUT'];
const ASTRAY = ['ERR_ABORTED', 'ERR_TOO_MANY_REDIRECTS', 'ERR_INVALID_REDIRECT', 'ERR_UNKNOWN_URL_SCHEME'];
const OF_THE_PROXY = /PROXY|TUNNEL|SOCKS/;

function networkFailure(code: string): FailureType {
  if (REFUSED.includes(code)) return 'refused_address';
  if (TIMED_OUT.includes(code)) return 'timeout';
  if (ASTRAY.includes(code)) return 'navigation_failed';
  return OF_THE_PROXY.test(code) ? 'proxy_error' : 'network_error';
}

/** `ERR_NAME_NOT_RESOLVED` as words. */
function describeNetwork(code: string): string {
  return `the browser reports ${code.slice('ERR_'.length).toLowerCase().replaceAll('_', ' ')}`;
}

function addressIn(text: string): string | null {
  return / at (\S+)/.exec(text)?.[1] ?? null;
}

/** Its call log is coloured for terminals. */
function plainText(message: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is removed.
  return message.replaceAll(/\u001b\[[0-9;]*m/g, '');
}

function firstLine(text: string): string {
  return (text.split('\n', 1)[0] ?? '').slice(0, 300);
}
