import { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { PROBLEM_TYPE, PROBLEMS, Problem, renderProblem } from '../../contract/problem.ts';
import { describeError } from '../../domain/describe-error.ts';
import { isNestedTooDeep, MAX_DEPTH } from '../../domain/storable-input.ts';
import type { Clock } from '../../ports/clock.ts';
import { StorageTrouble } from '../../ports/storage-trouble.ts';
import { JobGone } from '../results/export/export-job.ts';
import { type AllowedHosts, checkHost, checkOrigin, type Keys, keyIn, mayPass } from './access.ts';
import { packedProblem } from './body-bytes.ts';
import { type ApiReply, checked, type Operation } from './operation.ts';
import { UnderWay } from './under-way.ts';

interface ServerDeps {
  readonly operations: readonly Operation[];
  readonly keys: Keys;
  readonly hosts: AllowedHosts;
  readonly clock: Clock;
  readonly log: ServerLog;
  /** The storage refused a write: the engine must know. */
  readonly onStorageTrouble: (message: string) => void;
  readonly observe: (operation: string, method: string, status: number, seconds: number) => void;
}

export interface ServerLog {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

const DEFAULT_LIMIT_BYTES = 1 << 20;
/** A job id and an item id, percent-encoded. */
const MAX_PARAM_LENGTH = 4000;
const MAX_HEADER_BYTES = 32 * 1024;
/**
 * Longer than any pause of a live sender, and than any operation waits before it answers: a connection that times out is
 * closed without an answer. Event streams send something every few seconds.
 */
export const SILENCE_MS = 180_000;

/** The HTTP server for a list of operations; access, limits, parsing and problems are the same for all of them. */
export function buildServer(deps: ServerDeps): BuiltServer {
  const app = Fastify({
    logger: false,
    bodyLimit: DEFAULT_LIMIT_BYTES,
    exposeHeadRoutes: false,
    routerOptions: { maxParamLength: MAX_PARAM_LENGTH },
    connectionTimeout: SILENCE_MS,
    // An upload may take hours; `connectionTimeout` ends a silent one.
    requestTimeout: 0,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    // We answer a request without a Host header ourselves, with a problem.
    http: { maxHeaderSize: MAX_HEADER_BYTES, requireHostHeader: false },
    frameworkErrors: (error, _request, reply) => void sendProblem(reply, problemOf(error)),
    clientErrorHandler: answerBrokenRequest,
  });
  let isStopping = false;
  const underWay = new UnderWay();
  // The last defence against a scraped page that would run in our origin.
  app.addHook('onRequest', async (request, reply) => {
    reply.header('x-content-type-options', 'nosniff').header('cache-control', 'no-store');
    const header = headerOf(request);
    checkHost(header('host'), deps.hosts);
    checkOrigin(header('origin'), header('host'), header('sec-fetch-site'));
    if (isStopping) {
      reply.header('connection', 'close');
      throw new Problem('stopping', 'The server is stopping: try again in a moment.');
    }
    underWay.begin(request.raw.socket, reply.raw);
  });
  app.addHook('onResponse', async (request, reply) => report(deps, request, reply));
  app.setErrorHandler(async (error, request, reply) => {
    if (!request.raw.complete) await passOverRest(request, deps.clock);
    if (!request.raw.complete) reply.header('connection', 'close');
    // The client has disconnected, and nothing went wrong here.
    const hasHungUp = reply.raw.destroyed || (request.raw.destroyed && !request.raw.complete);
    if (hasHungUp && !(error instanceof Problem)) {
      deps.log.debug({ method: request.method, path: request.routeOptions.url }, 'the client disconnected');
      return sendProblem(reply, new Problem('malformed_request', 'The request was cut off.'));
    }
    if (error instanceof StorageTrouble) deps.onStorageTrouble(error.message);
    const problem = problemOf(error);
    if (problem.code === 'internal_error') {
      const about = { method: request.method, path: request.routeOptions.url };
      deps.log.error({ ...about, error: describeError(error) }, 'a request failed');
    }
    return sendProblem(reply, problem);
  });
  app.setNotFoundHandler((request, reply) => {
    const allowed = methodsOf(deps.operations, request.url);
    if (allowed.length === 0) return sendProblem(reply, new Problem('not_found', 'No such path: see /docs.'));
    const detail = `This path supports ${allowed.join(' and ')}: see /docs.`;
    return sendProblem(reply, new Problem('method_not_allowed', detail, [], { allow: allowed.join(', ') }));
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    const packed = packedProblem(request.headers['content-encoding']);
    const text = textOf(body);
    if (packed !== null) done(packed, undefined);
    else if (text === null) done(new Problem('malformed_request', 'The body is not UTF-8.'), undefined);
    else if (text.trim() === '') done(null, undefined);
    // Checked before parsing: very deep JSON takes seconds, during which no other request is served.
    else if (typeof body !== 'string' && isNestedTooDeep(body)) {
      done(new Problem('malformed_request', `The body is nested more than ${MAX_DEPTH} levels deep.`), undefined);
    } else app.getDefaultJsonParser('error', 'error')(request, text, done);
  });
  for (const operation of deps.operations) if (operation.body.kind !== 'stream') addRoute(app, operation, deps);
  // Bodies that the operation reads itself, as they arrive.
  app.register(async (streams) => {
    streams.removeAllContentTypeParsers();
    streams.addContentTypeParser('*', (_request, _payload, done) => done(null, undefined));
    for (const operation of deps.operations) if (operation.body.kind === 'stream') addRoute(streams, operation, deps);
  });
  return {
    app,
    stopTaking() {
      isStopping = true;
      return underWay.ended();
    },
    cutOff: () => underWay.cutOff(),
  };
}

interface BuiltServer {
  readonly app: FastifyInstance;
  /** Answers new requests with 503 `stopping` from now on. Resolves when all earlier ones are answered. */
  stopTaking(): Promise<void>;
  /** Closes the connections of requests that are not answered yet. */
  cutOff(): void;
}

function addRoute(app: FastifyInstance, operation: Operation, { keys, clock }: ServerDeps): void {
  const { body } = operation;
  app.route({
    method: operation.method,
    url: operation.path.replaceAll(/\{(\w+)\}/g, ':$1'),
    config: { operation } satisfies RouteConfig as object,
    ...(body.kind === 'json' ? { bodyLimit: body.limitBytes } : {}),
    onRequest: async (request) => mayPass(keys, operation.access, keyIn(headerOf(request))),
    handler: async (request, reply) => {
      if (request.method === 'GET') await passOverBody(request, clock);
      return send(reply, await handle(operation, request, reply));
    },
  });
}

function methodsOf(operations: readonly Operation[], url: string): string[] {
  const path = url.split('?')[0] ?? '';
  const isMeant = (template: string) =>
    new RegExp(`^${template.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path);
  return operations.filter((each) => isMeant(each.path)).map(({ method }) => method);
}

/** What a route passes to hooks; the framework has no type for it. */
interface RouteConfig {
  readonly operation?: Operation;
}

async function handle(operation: Operation, request: FastifyRequest, reply: FastifyReply): Promise<ApiReply> {
  const gone = new AbortController();
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) gone.abort();
  });
  return operation.handle({
    params: checked(operation.params, request.params, 'path'),
    query: checked(operation.query, { ...(request.query as object) }, 'query'),
    body: bodyOf(operation, request),
    sent: operation.body.kind === 'json' ? request.body : undefined,
    stream: operation.body.kind === 'stream' ? bytesOf(request) : NOTHING,
    header: headerOf(request),
    signal: gone.signal,
  });
}

/**
 * An operation that stops reading early must still be able to answer, so the request is not destroyed. The rest of its
 * body would be in the way of the next request, so the connection is closed after the answer.
 */
function bytesOf({ raw }: FastifyRequest): AsyncIterable<Uint8Array> {
  return { [Symbol.asyncIterator]: () => raw.iterator({ destroyOnReturn: false }) };
}

/**
 * The body of a GET is ignored but must be read: closing a connection with unread bytes resets it, and the end of a long
 * answer is lost. A client that announces a body and does not send it gets little time.
 */
async function passOverBody(request: FastifyRequest, clock: Clock): Promise<void> {
  const { 'content-length': length = '0', 'transfer-encoding': encoding } = request.headers;
  if (Number(length) === 0 && encoding === undefined) return;
  await passOver(request, clock, PASS_OVER_MS);
}

/**
 * An answer sent before the whole body has arrived may be lost: the client is still sending when the connection is
 * closed. The rest of a small body arrives within moments.
 */
async function passOverRest(request: FastifyRequest, clock: Clock): Promise<void> {
  if (!request.raw.destroyed) await passOver(request, clock, REST_MS);
}

async function passOver({ raw }: FastifyRequest, clock: Clock, ms: number): Promise<void> {
  const passed = new AbortController();
  const passing = finished(raw.resume()).finally(() => passed.abort());
  await Promise.race([passing.catch(() => {}), clock.sleep(ms, passed.signal)]);
}

const PASS_OVER_MS = 1000;
const REST_MS = 200;

const NOTHING: AsyncIterable<Uint8Array> = { [Symbol.asyncIterator]: () => Readable.from([])[Symbol.asyncIterator]() };

function bodyOf({ body }: Operation, request: FastifyRequest): unknown {
  if (body.kind !== 'json') return undefined;
  if (request.body === undefined) {
    if (body.isOptional) return checked(body.schema, {}, 'body');
    throw new Problem('malformed_request', 'The request has no body: send JSON with Content-Type: application/json.');
  }
  return checked(body.schema, request.body, 'body');
}

function send(reply: FastifyReply, answer: ApiReply): FastifyReply {
  reply.code(answer.status).headers({ ...answer.headers });
  if ('json' in answer) return reply.type('application/json; charset=utf-8').send(JSON.stringify(answer.json));
  if ('text' in answer) return reply.send(answer.text);
  if ('empty' in answer) return reply.send();
  return reply.send(Readable.from(answer.stream, { objectMode: false }));
}

function sendProblem(reply: FastifyReply, problem: Problem): FastifyReply {
  const { status } = PROBLEMS[problem.code];
  if (status === 401) reply.header('www-authenticate', 'Bearer');
  if (status === 503) reply.header('retry-after', '2');
  return reply
    .code(status)
    .headers({ ...problem.headers })
    .type(PROBLEM_TYPE)
    .serializer(asItIs)
    .send(renderProblem(problem));
}

function asItIs(text: unknown): string {
  return String(text);
}

/** The framework's 4xx errors are the client's fault; all others are ours. */
function problemOf(error: unknown): Problem {
  if (error instanceof Problem) return error;
  if (error instanceof JobGone) return new Problem('job_not_found', 'The job was deleted in the meantime.');
  if (error instanceof StorageTrouble) {
    if (error.kind === 'broken') return new Problem('storage_trouble', `${error.message}.`);
    // It may or may not be stored safely, so the answer must not claim either.
    const advice = 'Repeat the request in a moment; with an Idempotency-Key, a job is not created twice.';
    return new Problem('storage_trouble', `${error.message}. ${advice}`);
  }
  const { statusCode, message } = error as { statusCode?: number; message?: string };
  switch (statusCode) {
    case 413:
      return new Problem('too_large', 'The body is too large: send items to POST /jobs/{job_id}/items.');
    case 415:
      return new Problem('unsupported_media_type', 'Send JSON with Content-Type: application/json.');
    default:
      if (statusCode !== undefined && statusCode >= 400 && statusCode < 500) {
        return new Problem('malformed_request', message ?? 'The request cannot be parsed.');
      }
      return new Problem('internal_error', 'Internal error; details are in the server log.');
  }
}

/** A request that is not HTTP, or exceeds its limits, never reaches a route. */
function answerBrokenRequest(error: Error & { code?: string }, socket: import('node:net').Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const problem =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? new Problem('headers_too_large', `The headers may have at most ${MAX_HEADER_BYTES} bytes.`)
      : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? new Problem('request_timeout', 'The headers took too long to arrive.')
        : new Problem('malformed_request', 'This is not an HTTP request.');
  const body = renderProblem(problem);
  const { status } = PROBLEMS[problem.code];
  socket.end(
    `HTTP/1.1 ${status} ${problem.code}\r\ncontent-type: ${PROBLEM_TYPE}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n` +
      `connection: close\r\n\r\n${body}`,
  );
}

function report({ log, observe }: ServerDeps, request: FastifyRequest, reply: FastifyReply): void {
  const operation = (request.routeOptions.config as RouteConfig).operation?.id ?? 'none';
  const { method } = request;
  const { statusCode: status, elapsedTime } = reply;
  observe(operation, method, status, elapsedTime / 1000);
  const line = { operation, method, status, ms: Math.round(elapsedTime), ...(request.params as object) };
  if (method === 'GET' || status >= 400) log.debug(line, 'request');
  else log.info(line, 'request');
}

function headerOf({ headers }: FastifyRequest): (name: string) => string | null {
  return (name) => {
    const value = headers[name];
    return typeof value === 'string' ? value : (value?.[0] ?? null);
  };
}

function textOf(body: string | Buffer): string | null {
  if (typeof body === 'string') return body;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body);
  } catch {
    return null;
  }
}
