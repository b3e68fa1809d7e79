import type { FailureType } from '../../src/domain/failure.ts';
import { type ModelReply, type ModelServer, startModel } from './model-server.ts';

export const API_KEY = 'kéy/with+signs=1';

/** A token is good for this many requests. */
const REQUESTS_PER_TOKEN = 25;

/** One request in this many exceeds the limit, whichever client sends it. */
const LIMITED_EVERY = 40;

export interface Parcel {
  readonly apn: string;
  readonly owner: string;
  readonly tax: number;
  readonly sales: readonly { readonly year: number; readonly price: number }[];
}

export function parcelOf(number: number): Parcel {
  return {
    apn: `P-${number}`,
    owner: `Peña & Söhne ${number}`,
    tax: (number * 137) / 100,
    sales: Array.from({ length: number % 4 }, (_, sale) => ({ year: 2000 + sale, price: number * 1000 + sale })),
  };
}

/** How an item must end; null for success. */
export function expectedFailure(number: number): FailureType | null {
  if (number % 10 === 7) return 'not_found';
  if (number % 15 === 11) return 'no_results';
  if (number % 20 === 13) return 'structure_changed';
  if (number % 25 === 18) return 'server_error';
  if (number % 30 === 22) return 'navigation_failed';
  return null;
}

export interface TokenApi extends ModelServer {
  tokens(): number;
  /** Answers of 401, for a token that had expired. */
  expired(): number;
  limited(): number;
}

/** A JSON API that gives out tokens for a key, each good for a while, and says when it is asked too often. */
export async function startTokenApi(seed: string): Promise<TokenApi> {
  const uses = new Map<string, number>();
  let expired = 0;
  let limited = 0;
  let parcels = 0;
  const model = await startModel(seed, ({ method, url, headers, body }) => {
    if (method === 'POST' && url.pathname === '/token') {
      if (JSON.parse(body).key !== API_KEY) return json({ error: 'wrong key' }, 403);
      const token = `token-${uses.size + 1}`;
      uses.set(token, 0);
      return json({ token });
    }
    const number = Number(/^\/parcels\/P-(\d+)$/.exec(url.pathname)?.[1] ?? Number.NaN);
    if (Number.isNaN(number)) return json({ error: 'no such page' }, 404);
    const token = String(headers['authorization']).replace('Bearer ', '');
    const used = uses.get(token) ?? REQUESTS_PER_TOKEN;
    if (used >= REQUESTS_PER_TOKEN) {
      expired += 1;
      return json({ error: 'the token has expired' }, 401);
    }
    uses.set(token, used + 1);
    parcels += 1;
    if (parcels % LIMITED_EVERY === 0) {
      limited += 1;
      return { ...json({ error: 'slow down' }, 429), headers: { ...JSON_TYPE, 'retry-after': '1' } };
    }
    return parcel(number);
  });
  return { ...model, tokens: () => uses.size, expired: () => expired, limited: () => limited };
}

function parcel(number: number): ModelReply {
  switch (expectedFailure(number)) {
    case 'not_found':
      return json({ error: 'not found' }, 404);
    case 'no_results':
      return json({ status: 'none' });
    case 'structure_changed':
      return json({ status: 'found', parcel: { ...parcelOf(number), owner: undefined } });
    case 'server_error':
      return json({ error: 'out of order' }, 500);
    case 'navigation_failed':
      return json({ status: 'found', parcel: parcelOf(number + 1) });
    default:
      return json({ status: 'found', parcel: parcelOf(number) });
  }
}

const JSON_TYPE = { 'content-type': 'application/json' };

function json(value: unknown, status = 200): ModelReply {
  return { status, headers: JSON_TYPE, body: JSON.stringify(value) };
}
