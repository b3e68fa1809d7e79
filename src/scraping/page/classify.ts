import { type Failure, type FailureType, failure } from '../../domain/failure.ts';
import { hasForm } from './has-form.ts';
import { retryAfterMs } from './retry-after.ts';
import type { SeenPage } from './seen-page.ts';
import { blockerOf, type CompiledSigns, maintenanceIn, maintenanceInstead, staleStateIn } from './signs.ts';

export interface Rules {
  readonly signs: CompiledSigns;
  /** Statuses that the scraper considers normal. A challenge is never normal, whatever its status. */
  readonly expectStatus: readonly number[];
  /** Whether the page has what the scraper asks for next. Called only if the page looks bad; false if unknown. */
  readonly hasExpected: () => boolean;
  readonly now: number;
  /** The longest pause that an answer may ask for. */
  readonly maxRetryAfterMs: number;
}

/** Why this page is not what was requested; null if it may be. What it says counts first, then its status. */
export function classify(page: SeenPage, rules: Rules): Failure | null {
  const { url, status, headers, source, title } = page;
  const hint = retryAfterMs(headers['retry-after'], rules.now, rules.maxRetryAfterMs);
  const seenAt = status === null ? url : `${status}, ${url}`;
  const say = (type: FailureType, what: string) => failure(type, `${what} (${seenAt})`, { retryAfterMs: hint });

  const challenger = challengedBy(page);
  if (challenger !== null) return say('blocked', `${challenger} asks for a challenge to be solved`);

  const type = headers['content-type'];
  const isPage = mayBePage(type);
  if (isPage || isReadable(type)) {
    const own = bySigns(source, rules.signs);
    if (own !== null) return say(own.type, `the site says "${own.said}"`);
  }
  if (isPage) {
    const blocker = blockerOf(source(), { title, isGuessed: rules.signs.blocked === null });
    if (blocker !== null && !rules.hasExpected()) {
      return say('blocked', `a page of ${blocker} came instead of the site's`);
    }
  }
  if (status !== null && rules.expectStatus.includes(status)) return null;
  if (status === null || (status >= 200 && status < 300)) {
    const said = isPage ? guessMaintenance(page, rules) : null;
    return said === null ? null : say('maintenance', `the site says "${said}"`);
  }
  return byStatus(status, hint, isPage || isReadable(type) ? source : () => '', say);
}

/**
 * A notice is no reason to give up a page that has what the scraper asks for, or a form: if it is about the whole site
 * after all, the next lookup will fail, and the notice then explains it.
 */
function guessMaintenance({ source, title }: SeenPage, { signs, hasExpected }: Rules): string | null {
  if (signs.maintenance !== null) return null;
  const found = maintenanceInstead(source(), title);
  if (found === null || hasExpected()) return null;
  return found.isTitle || (signs.notices === 'at-once' && !hasForm(source())) ? found.sentence : null;
}

function challengedBy({ status, headers }: SeenPage): string | null {
  if (headers['cf-mitigated']?.includes('challenge')) return 'Cloudflare';
  // 202 and 405 are what its challenge and its captcha come with.
  if (/challenge|captcha/i.test(headers['x-amzn-waf-action'] ?? '')) return 'AWS WAF';
  // It also marks the answers that it lets pass.
  const isRefusal = status !== null && status >= 400 && status < 500 && status !== 404;
  if (headers['x-datadome'] !== undefined && isRefusal) return 'DataDome';
  return null;
}

function bySigns(
  text: () => string,
  signs: CompiledSigns,
): { readonly type: FailureType; readonly said: string } | null {
  for (const [type, patterns] of [
    ['blocked', signs.blocked],
    ['maintenance', signs.maintenance],
    ['no_results', signs.nothingFound],
  ] as const) {
    for (const pattern of patterns ?? []) {
      const match = pattern.exec(text());
      if (match !== null) return { type, said: match[0].replaceAll(/\s+/g, ' ').slice(0, 100) };
    }
  }
  return null;
}

type Say = (type: FailureType, what: string) => Failure;

function byStatus(status: number, hint: number | null, text: () => string, say: Say): Failure {
  if (status === 404 || status === 410) return say('not_found', 'the server says that there is no such page');
  if (status === 401 || status === 403 || status === 451)
    return say('blocked', 'the server refuses to show us the page');
  if (status === 429) return say('rate_limited', 'the server says that we ask too often');
  if (status === 408) return say('timeout', 'the server waited too long for the request');
  if (status >= 500) return byServerError(status, hint, text, say);
  // 425: the server would not answer a request sent so early in the connection; the same one later is fine.
  if (status === 425) return say('navigation_failed', 'the server asks us to send the request again');
  // The site does not accept a request like ours (any more): the same one would be refused again.
  if (status >= 400) return say('structure_changed', 'the server does not accept the request');
  return say('navigation_failed', 'the server sent us on, but did not say where');
}

function byServerError(status: number, hint: number | null, text: () => string, say: Say): Failure {
  // A maintenance page often has a Retry-After, too; that it is maintenance is the better explanation.
  const said = status === 503 ? maintenanceIn(text()) : null;
  if (said !== null) return say('maintenance', `the site says "${said}"`);
  if (status === 503 && hint !== null) return say('rate_limited', 'the server asks us to come back later');
  if (staleStateIn(text()) !== null) return say('navigation_failed', "the session's view state was stale");
  return say('server_error', 'the server failed');
}

/** Includes plain text and answers without a content type: some block pages come like that. */
function mayBePage(contentType: string | undefined): boolean {
  return contentType === undefined || contentType === '' || /html|text\/plain/i.test(contentType);
}

/** What a scraper's own signs are looked for in. */
function isReadable(contentType: string | undefined): boolean {
  return contentType !== undefined && /^text\/|json|xml/i.test(contentType);
}
