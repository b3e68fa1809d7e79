import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';

interface StoredItem {
  url: string;
  done: boolean;
  failed?: boolean;
  invalid?: boolean;
  failedReason?: string | null;
}

interface StoredRun {
  id: string;
  domain: string;
  status: string;
  createdAt: string;
  endTime: string | null;
  items: StoredItem[];
  metadata: Record<string, unknown>;
}

/** How one server in use differs from another. */
export interface Dialect {
  readonly ids: '_id' | 'id';
  readonly names: 'camel' | 'snake';
  readonly one: 'bare' | 'data' | 'run';
  readonly list: 'data' | 'runs' | 'bare';
  /** Flags that are not set are null, and not absent. */
  readonly nulls: boolean;
  readonly batches: 'taken' | 'refused' | 'ignored';
  readonly finalizes: 'status' | 'finalize';
  /** What happens to a change of an item that the run does not have. */
  readonly strangers: 'ignored' | 'refused';
  /** Whether lists are filtered by `status`. */
  readonly byStatus: boolean;
}

export const PLAIN: Dialect = {
  ...{ ids: '_id', names: 'camel', one: 'bare', list: 'data', nulls: false, batches: 'taken', finalizes: 'status' },
  ...{ strangers: 'ignored', byStatus: true },
};

/** What happens to a request instead of an ordinary answer. `lost`: it is carried out, and the answer never arrives. */
export type Trouble =
  | 'refused'
  | 'lost'
  | 'half'
  | 'garbage'
  | { readonly status: number; readonly retryAfter?: string };

export interface EtlServer {
  readonly endpoint: string;
  readonly runs: Map<string, StoredRun>;
  /** Method and path of each request, and what it said. */
  readonly seen: { readonly line: string; readonly body: unknown; readonly key: string | undefined }[];
  /** For the next requests, one each. */
  readonly troubles: (Trouble | null)[];
}

/** What a client may send, in any of its requests. */
interface Sent {
  readonly domain: string;
  readonly items?: readonly { readonly url: string }[];
  readonly metadata?: Record<string, unknown>;
  readonly updateItem?: Change;
  readonly updateItems?: readonly Change[];
  readonly status?: string;
  readonly finalize?: boolean;
  readonly endTime?: string;
}

interface Change {
  readonly url: string;
  readonly changes: Partial<StoredItem>;
}

/** An ETL API over the wire, in one of the dialects of servers in use. */
export async function openEtlServer(t: TestContext, dialect: Partial<Dialect> = {}): Promise<EtlServer> {
  const speaks = { ...PLAIN, ...dialect };
  const state: Omit<EtlServer, 'endpoint'> = { runs: new Map(), seen: [], troubles: [] };
  const server = createServer((request, response) => void serve(request, response, speaks, state));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { ...state, endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  dialect: Dialect,
  state: Omit<EtlServer, 'endpoint'>,
): Promise<void> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece);
  const body = pieces.length === 0 ? undefined : JSON.parse(Buffer.concat(pieces).toString());
  state.seen.push({ line: `${request.method} ${request.url}`, body, key: request.headers.authorization });
  const trouble = state.troubles.shift() ?? null;
  if (trouble === 'refused') {
    request.socket.destroy();
    return;
  }
  if (typeof trouble === 'object' && trouble !== null) {
    response.writeHead(trouble.status, trouble.retryAfter === undefined ? {} : { 'retry-after': trouble.retryAfter });
    response.end('{"error":"not now"}');
    return;
  }
  const [status, answer] = answerTo(request.method ?? '', request.url ?? '', body, dialect, state.runs);
  const text = trouble === 'garbage' ? '<html>sign in</html>' : JSON.stringify(answer);
  if (trouble === 'lost') {
    request.socket.destroy();
    return;
  }
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) });
  if (trouble === 'half') {
    response.write(text.slice(0, text.length / 2));
    setImmediate(() => request.socket.destroy());
    return;
  }
  response.end(text);
}

function answerTo(
  method: string,
  url: string,
  body: Sent,
  dialect: Dialect,
  runs: Map<string, StoredRun>,
): [status: number, answer: unknown] {
  const { pathname, searchParams } = new URL(url, 'http://etl');
  const id = pathname.split('/')[3];
  if (id === undefined) {
    if (method === 'POST') {
      const createdAt = new Date(Date.UTC(2026, 0, 1) + runs.size * 1000).toISOString();
      const items = (body.items ?? []).map(({ url: address }) => ({ url: address, done: false }));
      const { domain, metadata = {} } = body;
      const run = { id: `run-${runs.size + 1}`, domain, status: 'pending', createdAt, endTime: null, items, metadata };
      runs.set(run.id, run);
      return [201, wrapped(dialect.one, present(run, dialect))];
    }
    const domain = searchParams.get('domain');
    const status = dialect.byStatus ? searchParams.get('status') : null;
    const isWanted = (run: StoredRun) =>
      (domain === null || run.domain === domain) && (status === null || run.status === status);
    const found = [...runs.values()].filter(isWanted).reverse();
    const list = found.slice(0, Number(searchParams.get('limit') ?? 20)).map((run) => present(run, dialect));
    const pagination = { currentPage: 1, totalPages: 1, totalItems: found.length, limit: list.length };
    if (dialect.list === 'bare') return [200, list];
    return [200, dialect.list === 'runs' ? { runs: list } : { data: list, pagination }];
  }
  const run = runs.get(id);
  if (run === undefined) return [404, { error: 'no such run' }];
  if (method === 'PATCH') {
    const named = body.updateItems ?? (body.updateItem === undefined ? [] : [body.updateItem]);
    const hasStranger = named.some((update) => run.items.every((item) => item.url !== update.url));
    if (hasStranger && dialect.strangers === 'refused') return [404, { error: 'no such item' }];
    if (body.updateItems !== undefined) {
      if (dialect.batches === 'refused') return [400, { error: 'updateItem is required' }];
      if (dialect.batches === 'ignored') return [200, present(run, dialect)];
      const changed = body.updateItems.filter((update) => change(run, update));
      return [200, { updated: changed.length }];
    }
    if (body.updateItem !== undefined) change(run, body.updateItem);
    else if (dialect.finalizes === 'status' ? body.status === 'finished' : body.finalize === true) {
      Object.assign(run, {
        status: 'finished',
        endTime: body.endTime,
        metadata: { ...run.metadata, ...body.metadata },
      });
    }
  }
  return [200, wrapped(dialect.one, present(run, dialect))];
}

/** Whether the run has such an item. */
function change(run: StoredRun, { url, changes }: Change): boolean {
  const item = run.items.find((one) => one.url === url);
  if (item !== undefined) Object.assign(item, changes);
  return item !== undefined;
}

function wrapped(one: Dialect['one'], run: unknown): unknown {
  return one === 'bare' ? run : { [one]: run };
}

function present(run: StoredRun, { ids, names, nulls }: Dialect): unknown {
  const { id, createdAt, endTime, items, ...rest } = run;
  const named =
    names === 'camel'
      ? { createdAt, updatedAt: createdAt, startTime: createdAt, endTime }
      : { created_at: createdAt, updated_at: createdAt, start_time: createdAt, end_time: endTime };
  const shown = items.map(({ failedReason, ...item }) => ({
    ...(nulls ? { failed: null, invalid: null } : {}),
    ...item,
    ...(failedReason === undefined ? {} : { [names === 'camel' ? 'failedReason' : 'failReason']: failedReason }),
  }));
  return { [ids]: id, ...rest, ...named, items: shown };
}
