import { z } from 'zod';
import { errorMessage } from '../../domain/error-message.ts';
import { BrowserUnavailable } from '../../ports/browser-provider.ts';
import type { Clock } from '../../ports/clock.ts';

/** The REST API of Browserbase, as far as sessions need it. */

interface ApiDeps {
  readonly clock: Clock;
  readonly baseUrl: string;
  readonly apiKey: string;
  /** Empty: the project of the key. */
  readonly projectId: string;
}

const session = z.object({
  id: z.string().min(1),
  status: z.enum(['PENDING', 'RUNNING', 'ERROR', 'TIMED_OUT', 'COMPLETED']),
  projectId: z.string().default(''),
  userMetadata: z.record(z.string(), z.unknown()).nullish(),
});
const created = session.extend({ connectUrl: z.string().min(1) });

export type RemoteState = z.infer<typeof session>;
export type CreatedSession = z.infer<typeof created>;

/** It answers within a second; a new session takes a few. */
const ANSWER_MS = 30_000;
const MAX_RELEASES = 4;
const RELEASE_AGAIN_MS = 300;

export class BrowserbaseApi {
  readonly #deps: ApiDeps;

  constructor(deps: ApiDeps) {
    this.#deps = deps;
  }

  /** Rejects with BrowserUnavailable. If its reason is `failed`, the session may exist anyway. */
  async create(timeoutSeconds: number, userMetadata: Readonly<Record<string, string>>): Promise<CreatedSession> {
    const { projectId } = this.#deps;
    const project = projectId === '' ? {} : { projectId };
    return created.parse(
      await this.#send('POST', '/v1/sessions', { ...project, timeout: timeoutSeconds, userMetadata }),
    );
  }

  async list(status: RemoteState['status']): Promise<readonly RemoteState[]> {
    return z.array(session).parse(await this.#send('GET', `/v1/sessions?status=${status}`));
  }

  /** Null if it could not be asked. */
  async isRunning(id: string): Promise<boolean | null> {
    try {
      const { status } = session.parse(await this.#send('GET', `/v1/sessions/${encodeURIComponent(id)}`));
      return status === 'RUNNING' || status === 'PENDING';
    } catch {
      return null;
    }
  }

  /** Whether the service knows that the session is no longer needed. Tried several times: it is paid for until then. */
  async release(id: string): Promise<boolean> {
    const { projectId, clock } = this.#deps;
    const body = { ...(projectId === '' ? {} : { projectId }), status: 'REQUEST_RELEASE' };
    for (let tries = 1; ; tries += 1) {
      try {
        await this.#send('POST', `/v1/sessions/${encodeURIComponent(id)}`, body);
        return true;
      } catch (error) {
        if (error instanceof ApiRefusal && (error.status === 404 || error.status === 409)) return true;
        if (tries === MAX_RELEASES) return false;
        await clock.sleep(RELEASE_AGAIN_MS * 2 ** (tries - 1));
      }
    }
  }

  async #send(method: 'GET' | 'POST', path: string, body?: object): Promise<unknown> {
    const { clock, baseUrl, apiKey } = this.#deps;
    const late = new AbortController();
    const answered = new AbortController();
    void clock.sleep(ANSWER_MS, answered.signal).then(() => late.abort(new Error(`no answer within ${ANSWER_MS} ms`)));
    try {
      const response = await fetch(new URL(path, baseUrl), {
        ...{ method, signal: late.signal, redirect: 'error' },
        headers: { 'x-bb-api-key': apiKey, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      if (!response.ok) throw refusal(response, text);
      return text === '' ? null : JSON.parse(text);
    } catch (error) {
      if (error instanceof BrowserUnavailable) throw error;
      throw new BrowserUnavailable('failed', `Browserbase did not answer: ${errorMessage(error)}`, { cause: error });
    } finally {
      answered.abort();
    }
  }
}

class ApiRefusal extends BrowserUnavailable {
  readonly status: number;

  constructor(status: number, ...error: ConstructorParameters<typeof BrowserUnavailable>) {
    super(...error);
    this.status = status;
  }
}

/** 429: the plan allows no more concurrent sessions, or not so many requests. Other 4xx would be the same next time. */
function refusal({ status, headers }: Response, text: string): ApiRefusal {
  const message = `Browserbase answered ${status}: ${text.slice(0, 200)}`;
  if (status === 429) {
    const seconds = Number(headers.get('retry-after') ?? Number.NaN);
    return new ApiRefusal(status, 'busy', message, { retryAfterMs: Number.isFinite(seconds) ? seconds * 1000 : null });
  }
  const isOurs = status >= 400 && status < 500 && status !== 408;
  return new ApiRefusal(status, isOurs ? 'misconfigured' : 'failed', message);
}
