import { spreadMs } from '../../domain/backoff.ts';
import { errorMessage } from '../../domain/error-message.ts';
import { isRecord } from '../../domain/is-record.ts';
import type { Clock } from '../../ports/clock.ts';
import { EtlTrouble } from '../../ports/run-service.ts';
import { within } from '../../ports/within.ts';
import { retryAfterMs } from '../../scraping/page/retry-after.ts';
import { EtlAnswerError } from './normalize-run.ts';

/** Address of the ETL API, and our credentials. */
export interface EtlSettings {
  readonly endpoint: string;
  readonly apiKey: string;
}

export interface EtlDeps extends EtlSettings {
  readonly clock: Clock;
  readonly log: { warn(fields: object, message: string): void };
  /** Ends requests that are under way, and waits. */
  readonly signal?: AbortSignal;
}

export interface EtlRequest {
  readonly method: 'GET' | 'POST' | 'PATCH';
  readonly path: string;
  readonly params?: Readonly<Record<string, string | number | undefined>>;
  readonly body?: unknown;
  /** False if a request that may have arrived must not be sent again without checking. */
  readonly isRepeatable?: boolean;
}

/** The server refused a request. */
export class EtlRefused extends EtlTrouble {
  override name = 'EtlRefused';
  readonly status: number;

  constructor({ method, path }: EtlRequest, status: number, text: string) {
    const reason = reasonIn(text).slice(0, 300);
    super(`the ETL API answered ${status} to ${method} ${path}${reason === '' ? '' : `: ${reason}`}`);
    this.status = status;
  }
}

/** The server could not be reached, or the connection broke. */
export class EtlUnreachable extends EtlTrouble {
  override name = 'EtlUnreachable';

  constructor({ method, path }: EtlRequest, error: unknown) {
    super(`the ETL API could not be reached for ${method} ${path}: ${describe(error)}`, { cause: error });
  }
}

const RETRY_DELAYS_MS = [1000, 2000, 4000];
const LONGEST_RETRY_AFTER_MS = 60_000;
/** A run of 100,000 items is some 20 MB of JSON. */
const ANSWER_MS = 60_000;
const MAX_ANSWER_BYTES = 256 * 2 ** 20;

/** Sends a request and parses its JSON. Network errors are tried again three times; 429 and 503 when the server says. */
export async function askEtl(deps: EtlDeps, request: EtlRequest): Promise<unknown> {
  for (const delayMs of RETRY_DELAYS_MS) {
    try {
      return await askOnce(deps, request);
    } catch (error) {
      const waitMs = waitAfter(request, error, Math.round(spreadMs(delayMs, deps.clock.chance())));
      if (waitMs === null) throw error;
      deps.log.warn({ method: request.method, path: request.path, wait_ms: waitMs }, errorMessage(error));
      await deps.clock.sleep(waitMs, deps.signal);
      if (deps.signal?.aborted) throw error;
    }
  }
  return askOnce(deps, request);
}

/** Null if it is not retried. */
function waitAfter({ isRepeatable = true }: EtlRequest, error: unknown, delayMs: number): number | null {
  if (error instanceof AskedToWait) return error.waitMs ?? delayMs;
  return error instanceof EtlUnreachable && isRepeatable ? delayMs : null;
}

/** 429 or 503: the request was not processed. */
class AskedToWait extends EtlRefused {
  readonly waitMs: number | null;

  constructor(request: EtlRequest, status: number, text: string, waitMs: number | null) {
    super(request, status, text);
    this.waitMs = waitMs;
  }
}

function buildApiUrl({ endpoint }: EtlSettings, { path, params = {} }: EtlRequest): URL {
  const url = new URL(`${endpoint.replace(/\/+$/, '')}${path}`);
  for (const [name, value] of Object.entries(params))
    if (value !== undefined) url.searchParams.set(name, String(value));
  return url;
}

async function askOnce(deps: EtlDeps, request: EtlRequest): Promise<unknown> {
  const { clock, apiKey } = deps;
  const over = new AbortController();
  try {
    const ended = AbortSignal.any([over.signal, ...(deps.signal ? [deps.signal] : [])]);
    const asking = exchange(buildApiUrl(deps, request), request, apiKey, ended);
    const answer = await within(clock, ANSWER_MS, asking, () => {
      throw new EtlUnreachable(request, new Error(`no answer within ${ANSWER_MS / 1000} s`));
    });
    return readAnswer(request, answer, clock.now());
  } catch (error) {
    if (error instanceof EtlRefused || error instanceof EtlAnswerError || error instanceof EtlUnreachable) throw error;
    throw new EtlUnreachable(request, error);
  } finally {
    over.abort('the request is over');
  }
}

interface Exchanged {
  readonly status: number;
  readonly retryAfter: string | undefined;
  readonly text: string;
}

async function exchange(
  url: URL,
  { method, body }: EtlRequest,
  apiKey: string,
  signal: AbortSignal,
): Promise<Exchanged> {
  const response = await fetch(url, {
    ...{ method, signal },
    // The key must not reach another host.
    redirect: 'error',
    headers: {
      accept: 'application/json',
      authorization: `Bearer ${apiKey}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const retryAfter = response.headers.get('retry-after') ?? undefined;
  return { status: response.status, retryAfter, text: await readText(response) };
}

async function readText(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  let size = 0;
  for await (const piece of response.body ?? []) {
    size += piece.length;
    if (size > MAX_ANSWER_BYTES) throw new EtlAnswerError(`it is larger than ${MAX_ANSWER_BYTES / 2 ** 20} MiB`);
    text += decoder.decode(piece, { stream: true });
  }
  return text + decoder.decode();
}

function readAnswer(request: EtlRequest, { status, retryAfter, text }: Exchanged, now: number): unknown {
  if (status === 429 || status === 503) {
    throw new AskedToWait(request, status, text, retryAfterMs(retryAfter, now, LONGEST_RETRY_AFTER_MS));
  }
  if (status < 200 || status > 299) throw new EtlRefused(request, status, text);
  if (text === '') return {};
  try {
    return JSON.parse(text);
  } catch {
    const beginning = text.trim().slice(0, 100);
    throw new EtlAnswerError(
      `${request.method} ${request.path} was answered with something that is not JSON: ${beginning}`,
    );
  }
}

/** Servers put what they have to say into one of these fields; otherwise it is the whole answer. */
function reasonIn(text: string): string {
  try {
    const answer: unknown = JSON.parse(text);
    if (!isRecord(answer)) return text;
    return [answer['detail'], answer['message'], answer['error']].find((reason) => typeof reason === 'string') ?? text;
  } catch {
    return text;
  }
}

/** fetch puts the reason into the cause. */
function describe(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return errorMessage(cause);
}
