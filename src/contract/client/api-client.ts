import type { ProblemAnswer } from '../problem-answer.ts';
import { ApiError, Interrupted, NotTrawl, networkCode, Refused, Unreachable } from './api-error.ts';
import type { ClientClock } from './client-clock.ts';
import { type Deadline, openDeadline, TimedOut } from './deadline.ts';

/** Where the API is. */
export interface ApiAddress {
  readonly url: string;
  readonly apiKey: string | null;
  /** Set to reach it other than by the network. */
  readonly fetch?: Fetch;
}

/** The parts of `fetch` and its answer that the client uses. */
export type Fetch = (address: URL, request: FetchRequest) => Promise<FetchAnswer>;

interface FetchRequest {
  readonly method: string;
  readonly headers: Record<string, string>;
  readonly signal: AbortSignal;
  readonly redirect: 'manual';
  readonly duplex: 'half';
  readonly body?: string | AsyncIterable<Uint8Array>;
}

export interface FetchAnswer extends Pick<Response, 'ok' | 'status' | 'statusText' | 'bodyUsed'> {
  readonly headers: Pick<Headers, 'get'>;
  readonly body: (AsyncIterable<Uint8Array> & { cancel(): Promise<void> }) | null;
}

export interface ApiSettings extends ApiAddress {
  readonly clock: ClientClock;
  /** Aborts every call. */
  readonly signal: AbortSignal;
  /** Called before a request is repeated for the first time, so that the wait can be explained. */
  readonly onRetry?: (error: ApiError) => void;
}

export type Query = Readonly<Record<string, string | number | undefined>>;

export interface Request {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly query?: Query;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Sent as it is read; such a request is never repeated. */
  readonly stream?: AsyncIterable<Uint8Array>;
  /** Whether sending it twice has the same effect as sending it once. A GET always does. */
  readonly isRepeatable?: boolean;
  /** Set if the caller does its own retries. */
  readonly isTriedOnce?: boolean;
  /** How long the server may stay silent. */
  readonly silenceMs?: number;
}

/** An answer whose body is still arriving. It must be closed. */
export interface OpenAnswer {
  readonly response: FetchAnswer;
  /** The body; rejects with Interrupted or Unreachable. */
  bytes(): AsyncGenerator<Uint8Array>;
  close(): void;
}

/** Long enough for a controller to restart, short enough to notice one that is not running. */
const RETRY_DELAYS_MS = [200, 500, 1000, 2000, 4000];
const LONGEST_RETRY_AFTER_MS = 30_000;
const SILENCE_MS = 60_000;
/** Limit of an answer that is read as a whole, such as a page of items with their inputs and artifacts. */
const MAX_ANSWER_BYTES = 256 * 2 ** 20;
const MAX_PROBLEM_BYTES = 2 ** 20;

/** The REST API with deadlines, retries and typed errors. */
export class ApiClient {
  readonly clock: ClientClock;
  readonly signal: AbortSignal;
  readonly url: string;
  readonly #settings: ApiSettings;

  constructor(settings: ApiSettings) {
    this.#settings = settings;
    this.clock = settings.clock;
    this.signal = settings.signal;
    this.url = settings.url.replace(/\/+$/, '');
  }

  async get<T>(path: string, query: Query = {}): Promise<T> {
    return await this.json<T>({ method: 'GET', path, query });
  }

  async post<T>(path: string, body: unknown = undefined, { isRepeatable = false } = {}): Promise<T> {
    return await this.json<T>({ method: 'POST', path, body, isRepeatable });
  }

  /** Sends a request and parses the JSON of its answer. */
  async json<T>(request: Request): Promise<T> {
    return await this.#withRetries(request, async () => {
      const answer = await this.#send(request);
      try {
        return await this.#parsed<T>(answer);
      } finally {
        answer.close();
      }
    });
  }

  /** Sends a request and returns its answer as soon as the headers are there. */
  async open(request: Request): Promise<OpenAnswer> {
    return await this.#withRetries(request, () => this.#send(request));
  }

  async #withRetries<T>(request: Request, attempt: () => Promise<T>): Promise<T> {
    for (const [tries, delayMs] of RETRY_DELAYS_MS.entries()) {
      try {
        return await attempt();
      } catch (error) {
        const waitMs = retryDelay(request, error, delayMs * (0.5 + this.clock.chance()));
        if (waitMs === null) throw error;
        if (tries === 0 && error instanceof ApiError) this.#settings.onRetry?.(error);
        await this.clock.sleep(waitMs, this.signal);
        if (this.signal.aborted) throw new Interrupted();
      }
    }
    return await attempt();
  }

  async #send(request: Request): Promise<OpenAnswer> {
    const deadline = openDeadline(this.clock, request.silenceMs ?? SILENCE_MS, this.signal);
    try {
      const send: Fetch = this.#settings.fetch ?? fetch;
      const response = await send(this.#address(request), {
        method: request.method,
        headers: this.#headers(request),
        signal: deadline.signal,
        // The key must not reach another host.
        redirect: 'manual',
        duplex: 'half',
        ...bodyInit(request, deadline),
      });
      deadline.touch();
      const answer = this.#answer(response, deadline);
      if (response.ok) return answer;
      throw await refusal(answer);
    } catch (error) {
      deadline.close();
      throw this.#translated(error, deadline);
    }
  }

  #answer(response: FetchAnswer, deadline: Deadline): OpenAnswer {
    const translated = (error: unknown) => this.#translated(error, deadline);
    return {
      response,
      async *bytes() {
        try {
          for await (const piece of response.body ?? []) {
            // A slow reader is not the server's fault.
            deadline.hold();
            yield piece;
            deadline.touch();
          }
        } catch (error) {
          throw translated(error);
        }
      },
      close() {
        deadline.close();
        if (!response.bodyUsed) void response.body?.cancel().catch(ignore);
      },
    };
  }

  #address({ path, query = {} }: Request): URL {
    const address = new URL(`${this.url}${path}`);
    for (const [name, value] of Object.entries(query)) {
      if (value !== undefined) address.searchParams.set(name, String(value));
    }
    return address;
  }

  #headers({ body, headers = {} }: Request): Record<string, string> {
    const { apiKey } = this.#settings;
    return {
      accept: 'application/json',
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(apiKey === null ? {} : { authorization: `Bearer ${apiKey}` }),
      ...headers,
    };
  }

  /** An answer that is not JSON comes from a proxy or from another server. */
  async #parsed<T>(answer: OpenAnswer): Promise<T> {
    if (answer.response.status === 204) return {} as T;
    const text = await readText(answer, MAX_ANSWER_BYTES);
    try {
      return JSON.parse(text) as T;
    } catch {
      throw new NotTrawl(this.url);
    }
  }

  #translated(error: unknown, deadline: Deadline): unknown {
    if (this.signal.aborted) return new Interrupted();
    if (error instanceof ApiError) return error;
    if (deadline.signal.reason instanceof TimedOut) return new Unreachable(this.url, deadline.signal.reason);
    return isNetworkError(error) ? new Unreachable(this.url, error) : error;
  }
}

/** fetch throws a TypeError for every connection failure, with the actual one as its cause. */
function isNetworkError(error: unknown): boolean {
  return networkCode(error) !== null || (error instanceof TypeError && error.cause instanceof Error);
}

function bodyInit({ body, stream }: Request, deadline: Deadline): Pick<FetchRequest, 'body'> {
  if (stream !== undefined) return { body: touching(stream, deadline) };
  return body === undefined ? {} : { body: JSON.stringify(body) };
}

async function* touching(stream: AsyncIterable<Uint8Array>, deadline: Deadline): AsyncGenerator<Uint8Array> {
  // The source may be slow, such as a pipe; the server may not.
  deadline.hold();
  for await (const piece of stream) {
    deadline.touch();
    yield piece;
    deadline.hold();
  }
  deadline.touch();
}

/** How long to wait before the next try; null if there is none. */
function retryDelay(request: Request, error: unknown, delayMs: number): number | null {
  if (request.stream !== undefined || request.isTriedOnce === true) return null;
  const isRepeatable = request.method === 'GET' || request.isRepeatable === true;
  if (error instanceof Unavailable) return isRepeatable ? (error.retryAfterMs ?? delayMs) : null;
  if (!(error instanceof Unreachable) || !error.isTransient) return null;
  // A refused request never arrived, so it is safe to repeat.
  return isRepeatable || error.isRefused ? delayMs : null;
}

/** 503: the controller is running but cannot serve the request now. */
class Unavailable extends Refused {
  readonly retryAfterMs: number | null;

  constructor(problem: ProblemAnswer, retryAfter: string | null) {
    super(problem);
    const seconds = Number(retryAfter ?? Number.NaN);
    this.retryAfterMs = Number.isFinite(seconds) ? Math.min(Math.max(0, seconds) * 1000, LONGEST_RETRY_AFTER_MS) : null;
  }
}

async function refusal(answer: OpenAnswer): Promise<Refused> {
  const { status, statusText, headers } = answer.response;
  const problem = readProblem(await readText(answer, MAX_PROBLEM_BYTES), status) ?? {
    ...UNKNOWN,
    status,
    detail: `the server answered ${status} ${statusText}`,
  };
  return status === 503 ? new Unavailable(problem, headers.get('retry-after')) : new Refused(problem);
}

/** Used for the answer of a server that is not ours, or of a proxy. */
const UNKNOWN = { type: 'about:blank', title: '', code: 'unknown' } as const;

/** Null if the text is not a problem of the API. A newer server may have codes that we do not know. */
function readProblem(text: string, status: number): ProblemAnswer | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (typeof value !== 'object' || value === null) return null;
  const { type, title, code, detail, errors } = value as Record<string, unknown>;
  if (typeof detail !== 'string') return null;
  return {
    type: typeof type === 'string' ? type : UNKNOWN.type,
    title: typeof title === 'string' ? title : UNKNOWN.title,
    status,
    code: String(code ?? UNKNOWN.code),
    detail,
    ...(Array.isArray(errors) ? { errors: errors.map(readFieldError) } : {}),
  };
}

function readFieldError(field: Record<string, unknown> | null) {
  const text = (name: string) => String(field?.[name] ?? '');
  const code = field?.['code'] === undefined ? {} : { code: text('code') };
  return { path: text('path'), ...code, message: text('message') };
}

async function readText(answer: OpenAnswer, limit: number): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  let size = 0;
  for await (const piece of answer.bytes()) {
    size += piece.length;
    if (size > limit) throw new ApiError(`the answer is larger than ${limit / 2 ** 20} MiB`);
    text += decoder.decode(piece, { stream: true });
  }
  return text + decoder.decode();
}

function ignore(): void {}
