import { afterBadAnswer, speaksAgainstHost } from '../../domain/after-bad-answer.ts';
import { hostAnswer } from '../../domain/host-outage.ts';
import type { WebAnswer, WebFailed, WebRequest } from '../../egress/web.ts';
import { ScrapeFailure } from '../scrape-failure.ts';
import type { ScrapeTools } from '../scraper.ts';

interface RepeaterDeps {
  readonly tools: Pick<ScrapeTools, 'gate' | 'log'>;
  /** The job's limit. */
  readonly maxRetries: number;
  /** Whether the job goes slower when the site refuses its requests. */
  readonly isAdaptive: boolean;
  /** Rejects when the try is over. */
  sleep(ms: number): Promise<void>;
}

/** A request, and the `host` or `host:port` in its URL. */
export interface HostedRequest extends WebRequest {
  readonly host: string;
}

export interface Good<T> {
  readonly kind: 'good';
  readonly value: T;
}

/** One failed request. */
export interface Bad {
  readonly kind: 'bad';
  readonly error: ScrapeFailure;
  readonly url: string;
  readonly status: number | null;
  readonly isLost: boolean;
}

/** Repeats a request if one bad answer says little about the next, so that the item keeps its session. */
export class Repeater {
  readonly #deps: RepeaterDeps;
  #isUnauthorized = false;
  #hasGoodAnswer = false;

  constructor(deps: RepeaterDeps) {
    this.#deps = deps;
  }

  /** Whether the last failed request got a 401. */
  get isUnauthorized(): boolean {
    return this.#isUnauthorized;
  }

  /** Whether any answer arrived that was not a failure. */
  get hasGoodAnswer(): boolean {
    return this.#hasGoodAnswer;
  }

  async untilGood<T>(
    { method, host: askedHost }: Pick<HostedRequest, 'method' | 'host'>,
    ask: () => Promise<Good<T> | Bad>,
  ): Promise<T> {
    const { tools, maxRetries } = this.#deps;
    for (let repeats = 0; ; repeats += 1) {
      const end = await ask();
      if (end.kind === 'good') {
        this.#hasGoodAnswer = true;
        tools.gate.noteAnswer(askedHost, 'good', '');
        return end.value;
      }
      const { error, url, status, isLost } = end;
      this.#isUnauthorized = status === 401;
      const { failure } = error;
      const host = hostOf(url);
      const trouble = speaksAgainstHost({ failure, status }) ? tools.gate.noteTrouble(host) : 'frequent';
      const says = hostAnswer(failure, status);
      const noted = says === 'refused' && !this.#deps.isAdaptive ? 'there' : says;
      if (noted !== null) tools.gate.noteAnswer(host, noted, failure.message);
      const next = afterBadAnswer({ failure, method, status, isLost, repeats, trouble }, maxRetries);
      if (next.kind === 'fail') {
        // All items of this process hold back, not only the one that got the answer.
        if (next.pauseMs !== null) tools.gate.hold(host, next.pauseMs, failure.message);
        throw error;
      }
      if (tools.gate.takeRetry(host) !== 'go') throw error;
      tools.log.debug({ url, because: failure.message, wait_ms: next.delayMs }, 'request repeated');
      await this.#deps.sleep(next.delayMs);
    }
  }
}

function hostOf(url: string): string {
  return URL.parse(url)?.host ?? '';
}

/** An answer that is not what was requested. */
export function badAnswer({ url, status }: WebAnswer, error: ScrapeFailure): Bad {
  return { kind: 'bad', error, url, status, isLost: false };
}

/** A request without an answer. */
export function unanswered({ failure, url, isLost }: WebFailed): Bad {
  return { kind: 'bad', error: new ScrapeFailure(failure), url, status: null, isLost: isLost === true };
}
