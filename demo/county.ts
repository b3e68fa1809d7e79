import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type Answer, htmlAnswer, jsonAnswer, send } from './answer.ts';
import { apnOf, MOST_PARCELS } from './apn.ts';
import { BadPlan, parseFaultPlan } from './fault-plan.ts';
import { type FaultPlan, faultFor, NO_FAULTS } from './faults.ts';
import { misbehave } from './misbehave.ts';
import { serverErrorPage } from './pages/trouble.ts';
import { type Random, randomOf } from './random.ts';
import { openSite, pageOf, type Site, type SiteRequest } from './site.ts';
import { Stats } from './stats.ts';

export interface CountyOptions {
  /** 0 for any that is free. */
  readonly port?: number;
  readonly parcels?: number;
  readonly seed?: number;
  /** As PUT /__control/faults takes it; one that cannot be read is thrown as BadPlan. */
  readonly faults?: unknown;
  /** How many visitors it remembers. */
  readonly sessions?: number;
}

export interface County {
  /** `http://127.0.0.1:4000` */
  readonly url: string;
  /** Tears all connections. */
  close(): Promise<void>;
}

/** The demo county: a web site on loopback that behaves like those of real counties, also when it does not. */
export async function startCounty(options: CountyOptions = {}): Promise<County> {
  const { port = 0, parcels = 100_000, seed = 1, sessions = 20_000, faults } = options;
  if (!(Number.isInteger(parcels) && parcels > 0 && parcels <= MOST_PARCELS)) {
    throw new RangeError(`parcels: ${parcels} is not a whole number from 1 to ${MOST_PARCELS}`);
  }
  const site = openSite({ parcels, seed, sessions, secret: randomBytes(16).toString('hex') });
  const office = new Office(site, parcels, seed);
  if (faults !== undefined) office.setPlan(parseFaultPlan(faults));

  const server = createServer(
    { keepAliveTimeout: 60_000, requestTimeout: 30_000, noDelay: true },
    (request, response) => {
      office.serve(request, response).catch(() => response.destroy());
    },
  );
  // As many as come: the client's limits are what is being tried out here.
  server.maxRequestsPerSocket = 0;
  server.on('connection', (socket) => {
    office.stats.connections.up();
    socket.once('close', () => office.stats.connections.down());
  });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once('error', reject);
  server.listen(port, '127.0.0.1', 1024, resolve);
  await promise;
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the county has no port');
  return {
    url: `http://127.0.0.1:${address.port}`,
    async close() {
      const closed = Promise.withResolvers<void>();
      server.close(() => closed.resolve());
      server.closeAllConnections();
      await closed.promise;
    },
  };
}

const CONTROL = '/__control/';
const MOST_BODY_BYTES = 256 * 1024;

class Office {
  readonly stats = new Stats();
  readonly #site: Site;
  readonly #parcels: number;
  readonly #seed: number;
  #plan: FaultPlan = NO_FAULTS;
  /** Start of the plan in force. */
  #since = performance.now();
  #requests = 0;
  #random: Random;

  constructor(site: Site, parcels: number, seed: number) {
    this.#site = site;
    this.#parcels = parcels;
    this.#seed = seed;
    this.#random = randomOf(seed, 0, FAULTS_TOPIC);
  }

  /** From here on its requests and its milliseconds are counted, and its dice fall as they always do. */
  setPlan(plan: FaultPlan): void {
    this.#plan = plan;
    this.#since = performance.now();
    this.#requests = 0;
    this.#random = randomOf(this.#seed, 0, FAULTS_TOPIC);
  }

  async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = request.url ?? '/';
    const mark = url.indexOf('?');
    const path = mark < 0 ? url : url.slice(0, mark);
    const query = mark < 0 ? '' : url.slice(mark + 1);
    if (path.startsWith(CONTROL)) return send(response, await this.#control(request, path.slice(CONTROL.length)));
    // The list is for those who make a job; no fault keeps them from it.
    if (path === '/parcels.csv') return this.#sendList(response, new URLSearchParams(query).get('limit'));

    this.stats.underWay.up();
    response.once('close', () => this.stats.underWay.down());
    const { method } = request;
    if (method !== 'GET' && method !== 'HEAD' && method !== 'POST') return send(response, NOT_ALLOWED);
    if (isTooLarge(request)) return send(response, TOO_LARGE);
    const form = method === 'POST' ? new URLSearchParams(await readBody(request)) : null;
    this.#visit(
      { method: form === null ? 'GET' : 'POST', path: path.toLowerCase(), query, cookie: request.headers.cookie, form },
      response,
    );
  }

  #visit(request: SiteRequest, response: ServerResponse): void {
    const page = pageOf(request);
    this.stats.request(page);
    const at = { request: this.#requests, elapsedMs: performance.now() - this.#since, page };
    this.#requests += 1;
    const { delayMs, fault } = faultFor(this.#plan, at, this.#random);
    if (fault !== null) this.stats.fault(fault.kind);
    const proceed = () => {
      if (fault === null) send(response, this.#site.answer(page, request, false));
      else misbehave(fault, response, (isNeighbour) => this.#site.answer(page, request, isNeighbour));
    };
    if (delayMs === 0) {
      proceed();
      return;
    }
    this.stats.fault('latency');
    const timer = setTimeout(proceed, delayMs);
    response.once('close', () => clearTimeout(timer));
  }

  async #control(request: IncomingMessage, name: string): Promise<Answer> {
    const what = `${request.method} ${name}`;
    if (what === 'GET stats') return jsonAnswer(200, { ...this.stats.toJSON(), sessions: this.#site.sessions });
    if (what !== 'PUT faults') return jsonAnswer(404, { error: `there is no ${what}` });
    if (isTooLarge(request)) return jsonAnswer(413, { error: 'plan: is too large' });
    const body = await readBody(request);
    try {
      this.setPlan(parseFaultPlan(JSON.parse(body)));
      return jsonAnswer(200, { set: true });
    } catch (error) {
      if (error instanceof BadPlan) return jsonAnswer(400, { error: error.message });
      if (error instanceof SyntaxError) return jsonAnswer(400, { error: 'plan: is not JSON' });
      throw error;
    }
  }

  async #sendList(response: ServerResponse, limit: string | null): Promise<void> {
    if (limit !== null && !/^\d{1,9}$/.test(limit))
      return send(response, jsonAnswer(400, { error: 'limit: is not a number' }));
    const count = Math.min(this.#parcels, limit === null ? this.#parcels : Number(limit));
    response.writeHead(200, { 'Content-Type': 'text/csv; charset=utf-8' });
    await pipeline(Readable.from(listOf(count)), response);
  }
}

const FAULTS_TOPIC = 99;
const NOT_ALLOWED = htmlAnswer(405, serverErrorPage('Method not allowed'), { Allow: 'GET, HEAD, POST' });
const TOO_LARGE = htmlAnswer(413, serverErrorPage('Maximum request length exceeded.'), { Connection: 'close' });

function isTooLarge(request: IncomingMessage): boolean {
  return Number(request.headers['content-length'] ?? 0) > MOST_BODY_BYTES;
}

/** Throws when there is more than was announced at the door; the connection is then torn. */
async function readBody(request: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of request) {
    size += piece.length;
    if (size > MOST_BODY_BYTES) throw new Error('the body is too large');
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString();
}

/** In pieces of some kilobytes, so that a million numbers are never held at once. */
function* listOf(count: number): Generator<string> {
  yield 'apn\n';
  for (let start = 0; start < count; start += 1000) {
    let lines = '';
    for (let n = start; n < Math.min(start + 1000, count); n += 1) lines += `${apnOf(n)}\n`;
    yield lines;
  }
}
