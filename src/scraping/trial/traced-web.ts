import type { Visit, Web, WebAnswer, WebFailed, WebRequest } from '../../egress/web.ts';
import { decodeText } from '../http/charset.ts';
import type { SeenPage, TrialRequest } from './trial.ts';

/** A web that reports every request, and keeps the last page. */
export class TracedWeb implements Web {
  readonly #web: Web;
  readonly #tell: (request: TrialRequest) => void;
  #last: WebAnswer | null = null;

  constructor(web: Web, tell: (request: TrialRequest) => void) {
    this.#web = web;
    this.#tell = tell;
  }

  async send(request: WebRequest, visit: Visit): Promise<WebAnswer | WebFailed> {
    const end = await this.#web.send(request, visit);
    const isAnswer = end.kind === 'answer';
    if (isAnswer && end.body.length > 0) this.#last = end;
    this.#tell({
      kind: 'request',
      method: request.method,
      url: end.url,
      status: isAnswer ? end.status : null,
      bytes: isAnswer ? end.bytes : 0,
      ms: Math.round(end.ms),
      redirects: end.redirects,
      problem: isAnswer ? null : `${end.failure.type}: ${end.failure.message}`,
    });
    return end;
  }

  /** Of any kind: what a scraper took for a page is what its author wants to see. */
  get lastPage(): SeenPage | null {
    if (this.#last === null) return null;
    const { url, body, headers } = this.#last;
    return { url, text: decodeText(body, headers['content-type']) };
  }
}
