import { failure } from '../../src/domain/failure.ts';
import { enterHost } from '../../src/egress/enter-host.ts';
import type { Visit, Web, WebAnswer, WebFailed, WebRequest } from '../../src/egress/web.ts';
import type { Clock } from '../../src/ports/clock.ts';

export const HOST = 'county.example';

/** How a county behaves, in milliseconds of virtual time from its start. */
export interface CountyPlan {
  /** More requests in any second are refused. */
  readonly limitPerSecond: number;
  readonly retryAfterSeconds: number;
  readonly slow: { readonly from: number; readonly until: number };
  /** Nothing answers in the first half; a page says so in the second. */
  readonly down: { readonly from: number; readonly until: number };
}

const PAGE_MS = 300;
const SLOW_PAGE_MS = 3000;
const REFUSAL_MS = 40;

/** What a county saw of its visitors. */
export class County {
  readonly #plan: CountyPlan;
  /** Of the last accepted requests, as many as are accepted in a second. */
  readonly #accepted: number[] = [];
  requests = 0;
  refused = 0;
  outageRequests = 0;

  constructor(plan: CountyPlan) {
    this.#plan = plan;
  }

  /** How a request that arrives now is answered, and after how long. */
  answer(now: number): { readonly kind: 'page' | 'refusal' | 'nothing' | 'notice'; readonly ms: number } {
    const { limitPerSecond, slow, down } = this.#plan;
    this.requests += 1;
    if (now >= down.from && now < down.until) {
      this.outageRequests += 1;
      return { kind: now < (down.from + down.until) / 2 ? 'nothing' : 'notice', ms: REFUSAL_MS };
    }
    const oldest = this.#accepted.length < limitPerSecond ? undefined : this.#accepted[0];
    if (oldest !== undefined && now - oldest < 1000) {
      this.refused += 1;
      return { kind: 'refusal', ms: REFUSAL_MS };
    }
    if (oldest !== undefined) this.#accepted.shift();
    this.#accepted.push(now);
    return { kind: 'page', ms: now >= slow.from && now < slow.until ? SLOW_PAGE_MS : PAGE_MS };
  }

  get retryAfterSeconds(): number {
    return this.#plan.retryAfterSeconds;
  }
}

/** The county as a worker process reaches it: through the gate, as every request. */
export function countyWeb(county: County, clock: Clock): Web {
  return {
    async send(request: WebRequest, visit: Visit): Promise<WebAnswer | WebFailed> {
      const leave = await enterHost(visit, HOST, request.url);
      try {
        const { kind, ms } = county.answer(clock.elapsed());
        await clock.sleep(ms, visit.signal);
        visit.signal.throwIfAborted();
        const { url } = request;
        if (kind === 'nothing') {
          return {
            kind: 'failed',
            failure: failure('network_error', `${HOST}: connection refused`),
            url,
            redirects: [],
            ms,
          };
        }
        const { status, headers, text } = ANSWERS[kind](county);
        const body = Buffer.from(text);
        const size = { bytes: body.length, rawBytes: body.length };
        return { kind: 'answer', status, headers: { ...HTML, ...headers }, url, body, redirects: [], ...size, ms };
      } finally {
        leave();
      }
    },
  };
}

const HTML = { 'content-type': 'text/html' };

const ANSWERS = {
  page: () => ({ status: 200, headers: {}, text: '<title>Parcel</title><p id="owner">A. Miller</p>' }),
  refusal: ({ retryAfterSeconds }: County) => ({
    status: 429,
    headers: { 'retry-after': String(retryAfterSeconds) },
    text: 'too many requests',
  }),
  notice: () => ({ status: 503, headers: {}, text: '<title>Down for maintenance</title>' }),
} as const;
