import type { Clock } from '../../main/client.ts';
import { printable } from '../format.ts';
import { ApiError, codeOf, Interrupted, type Problem, Refused, Unreachable } from './api-error.ts';
import { type Deadline, openDeadline, TimedOut } from './deadline.ts';

export interface ApiSettings {
  readonly url: string;
  readonly apiKey: string | null;
  readonly clock: Clock;
  /** Aborts when the user wants it to stop. */
  readonly signal: AbortSignal;
  /** Told when a request is tried again, so that nobody wonders why nothing happens. */
  readonly onRetry?: (message: string) => void;
}

export type Query = Readonly<Record<string, string | number | undefined>>;

export interface Request {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly query?: Query;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Sent as it comes; such a request is not tried again. */
  readonly stream?: AsyncIterable<Uint8Array>;
  /** Whether sending it twice comes to the same. What is only asked for always does. */
  readonly isRepeatable?: boolean;
  /** The caller has a patience of its own. */
  readonly isTriedOnce?: boolean;
  /** Longest silence. */
  readonly silenceMs?: number;
}

/** An answer that is still coming. It must be closed. */
export interface OpenAnswer {
  readonly response: Response;
  /** The bytes of the answer; rejects as Interrupted or Unreachable. */
  bytes(): AsyncGenerator<Uint8Array>;
  close(): void;
}

/** A controller that restarts is back within seconds; one that is not there is told soon enough. */
const RETRY_DELAYS_MS = [200, 500, 1000, 2000, 4000];
const LONGEST_RETRY_AFTER_MS = 30_000;
const SILENCE_MS = 60_000;
/** Of an answer that is read whole: a page of items, each with an input and artifacts. */
const MAX_ANSWER_BYTES = 256 * 2 ** 20;
const MAX_PROBLEM_BYTES = 2 ** 20;

/** The REST API for the commands: deadlines, retries, and errors in words. */
export class ApiClient {
  readonly clock: Clock;
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

  /** Sends, and reads the answer whole. */
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

  /** Sends, and hands out the answer while it comes. */
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
        if (tries === 0) this.#settings.onRetry?.(`${firstLine(error)}. Trying again for a while …`);
        await this.clock.sleep(waitMs, this.signal);
        if (this.signal.aborted) throw new Interrupted();
      }
    }
    return await attempt();
  }

  async #send(request: Request): Promise<OpenAnswer> {
    const deadline = openDeadline(this.clock, request.silenceMs ?? SILENCE_MS, this.signal);
    try {
      const response = await fetch(this.#address(request), {
        method: request.method,
        headers: this.#headers(request),
        signal: deadline.signal,
        // A key is for the host that it was given for.
        redirect: 'manual',
        ...bodyOf(request, deadline),
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

  #answer(response: Response, deadline: Deadline): OpenAnswer {
    const translated = (error: unknown) => this.#translated(error, deadline);
    return {
      response,
      async *bytes() {
        try {
          for await (const piece of response.body ?? []) {
            // Whoever reads may take their time.
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

  /** What is no JSON does not come from the API: a proxy, or another server. */
  async #parsed<T>(answer: OpenAnswer): Promise<T> {
    if (answer.response.status === 204) return {} as T;
    const text = await textOf(answer, MAX_ANSWER_BYTES);
    try {
      return JSON.parse(text) as T;
    } catch {
      throw new ApiError(`${this.url} answers, but not as Trawl does (no JSON): TRAWL_URL says where the API is`);
    }
  }

  #translated(error: unknown, deadline: Deadline): unknown {
    if (this.signal.aborted) return new Interrupted();
    if (error instanceof ApiError) return error;
    if (deadline.signal.reason instanceof TimedOut) return new Unreachable(this.url, deadline.signal.reason);
    return isOfNetwork(error) ? new Unreachable(this.url, error) : error;
  }
}

/** fetch says TypeError for whatever happens to a connection, and has the cause in it. */
function isOfNetwork(error: unknown): boolean {
  return codeOf(error) !== null || (error instanceof TypeError && error.cause instanceof Error);
}

function bodyOf({ body, stream }: Request, deadline: Deadline): RequestInit {
  if (stream !== undefined) return { body: touching(stream, deadline), duplex: 'half' };
  return body === undefined ? {} : { body: JSON.stringify(body) };
}

async function* touching(stream: AsyncIterable<Uint8Array>, deadline: Deadline): AsyncGenerator<Uint8Array> {
  // What is sent may come slowly, from a pipe; taking it may not last.
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
  if (!(error instanceof Unreachable) || !error.isPassing) return null;
  // What was refused never arrived, whatever it is.
  return isRepeatable || error.isRefused ? delayMs : null;
}

/** 503: the controller is there, and cannot serve now. */
class Unavailable extends Refused {
  readonly retryAfterMs: number | null;

  constructor(problem: Problem, retryAfter: string | null) {
    super(problem);
    const seconds = Number(retryAfter ?? Number.NaN);
    this.retryAfterMs = Number.isFinite(seconds) ? Math.min(Math.max(0, seconds) * 1000, LONGEST_RETRY_AFTER_MS) : null;
  }
}

async function refusal(answer: OpenAnswer): Promise<Refused> {
  const { status, statusText, headers } = answer.response;
  const text = await textOf(answer, MAX_PROBLEM_BYTES);
  const problem = { status, code: 'unknown', detail: `the server answers ${status} ${printable(statusText)}` };
  const told = problemIn(text);
  const whole = told === null ? problem : { ...problem, ...told };
  return status === 503 ? new Unavailable(whole, headers.get('retry-after')) : new Refused(whole);
}

function problemIn(text: string): Omit<Problem, 'status'> | null {
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
    ...(typeof type === 'string' ? { type } : {}),
    ...(typeof title === 'string' ? { title } : {}),
    code: String(code ?? 'unknown'),
    detail,
    ...(Array.isArray(errors) ? { errors: errors.map(fieldProblem) } : {}),
  };
}

function fieldProblem(field: Record<string, unknown> | null): { path: string; message: string } {
  return { path: String(field?.['path'] ?? ''), message: String(field?.['message'] ?? '') };
}

async function textOf(answer: OpenAnswer, limit: number): Promise<string> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of answer.bytes()) {
    size += piece.length;
    if (size > limit) throw new ApiError(`the answer is larger than ${limit / 2 ** 20} MiB`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString('utf8');
}

function firstLine(error: unknown): string {
  return error instanceof Error ? (error.message.split('\n')[0] ?? '').replace(/\.$/, '') : '';
}

function ignore(): void {}
