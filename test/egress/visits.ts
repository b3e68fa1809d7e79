import { SystemClock } from '../../src/adapters/system/clock.ts';
import { parseAddressRanges } from '../../src/egress/address-range.ts';
import { AddressRules } from '../../src/egress/address-rules.ts';
import { type OpenWeb, openWeb, type WebDeps } from '../../src/egress/open-web.ts';
import { parseRoutes } from '../../src/egress/routes.ts';
import type { CookieBook, Visit, WebAnswer, WebFailed, WebRequest } from '../../src/egress/web.ts';
import { OPEN_GATE } from '../../src/ports/host-gate.ts';

/** A web that may go to this machine, where the tests' servers are. */
export function loopbackWeb(parts: Partial<WebDeps> = {}): OpenWeb {
  return openWeb({
    rules: new AddressRules(parseAddressRanges('loopback')),
    routes: parseRoutes(''),
    clock: new SystemClock(),
    ...parts,
  });
}

export function aVisit(parts: Partial<Visit> = {}): Visit {
  return {
    cookies: NO_COOKIES,
    deadlines: { connectMs: 5000, firstByteMs: 5000, silenceMs: 5000, totalMs: 10_000 },
    limits: { rawBytes: 1 << 20, bytes: 8 << 20, redirects: 10 },
    exit: { dialer: 'direct', session: '' },
    checkHost: () => undefined,
    gate: OPEN_GATE,
    patienceMs: 5000,
    sink: null,
    signal: new AbortController().signal,
    ...parts,
  };
}

export function aRequest(url: string, parts: Partial<WebRequest> = {}): WebRequest {
  return { method: 'GET', url, headers: {}, body: null, ...parts };
}

export const NO_COOKIES: CookieBook = { header: () => null, keep: () => undefined };

/** Cookies by host, sent with every request to it: enough to see what is asked for and what is kept. */
export class FewCookies implements CookieBook {
  readonly kept: string[] = [];
  readonly #byHost = new Map<string, string[]>();

  header(url: string): string | null {
    return this.#byHost.get(new URL(url).host)?.join('; ') ?? null;
  }

  keep(url: string, setCookie: readonly string[]): void {
    const { host } = new URL(url);
    for (const line of setCookie) {
      this.kept.push(`${host} ${line}`);
      this.#byHost.set(host, [...(this.#byHost.get(host) ?? []), line.split(';')[0] ?? '']);
    }
  }
}

export function textOf(end: WebAnswer | WebFailed): string {
  return end.kind === 'answer' ? Buffer.from(end.body).toString() : `${end.failure.type}: ${end.failure.message}`;
}
