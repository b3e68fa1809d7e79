import { lookup as systemLookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { type Failure, failure } from '../domain/failure.ts';
import type { Clock } from '../ports/clock.ts';
import type { AddressRules } from './address-rules.ts';

export interface ResolvedAddress {
  readonly address: string;
  readonly family: 4 | 6;
}

export interface Resolved {
  readonly kind: 'resolved';
  /** At least one, each of them allowed. These are dialled; nobody asks for the name again. */
  readonly addresses: readonly ResolvedAddress[];
}

export interface ResolveFailed {
  readonly kind: 'failed';
  readonly failure: Failure;
}

export interface Resolver {
  /** It rejects only when `signal` aborts, with the signal's reason. `hostname` is a name or an address without brackets. */
  resolve(hostname: string, signal: AbortSignal, timeoutMs: number): Promise<Resolved | ResolveFailed>;
}

/** All addresses of a name. Rejects as `node:dns` does, with a `code`. */
export type Lookup = (hostname: string) => Promise<readonly { readonly address: string }[]>;

export interface ResolverOptions {
  readonly rules: AddressRules;
  readonly lookup?: Lookup;
  readonly clock: Clock;
}

/** Long enough for the requests of one item, short enough to follow a site that moves. */
const REMEMBERED_MS = 10_000;
const MAX_REMEMBERED = 1000;

/** The system's lookup cannot be stopped. One that hangs for longer than this is not waited for by newcomers. */
const MAX_SHARED_MS = 30_000;

interface Entry {
  readonly answer: Promise<Resolved | ResolveFailed>;
  goodUntil: number;
}

export function openResolver({ rules, lookup = lookupAll, clock }: ResolverOptions): Resolver {
  // In flight or remembered, oldest first.
  const entries = new Map<string, Entry>();

  function ask(hostname: string): Promise<Resolved | ResolveFailed> {
    const known = entries.get(hostname);
    if (known !== undefined && clock.elapsed() < known.goodUntil) return known.answer;
    const entry: Entry = {
      answer: lookUp(hostname, lookup, rules).then((answer) => {
        if (entries.get(hostname) !== entry) return answer;
        entries.delete(hostname);
        // A lookup that failed is not remembered: the next try may do better.
        if (answer.kind === 'resolved' || answer.failure.type === 'refused_address') {
          entry.goodUntil = clock.elapsed() + REMEMBERED_MS;
          entries.set(hostname, entry);
        }
        return answer;
      }),
      goodUntil: clock.elapsed() + MAX_SHARED_MS,
    };
    entries.delete(hostname);
    entries.set(hostname, entry);
    for (const oldest of entries.keys()) {
      if (entries.size <= MAX_REMEMBERED) break;
      entries.delete(oldest);
    }
    return entry.answer;
  }

  return {
    async resolve(hostname, signal, timeoutMs) {
      signal.throwIfAborted();
      if (isIP(hostname) !== 0) return judged(hostname, [hostname], rules);
      const over = new AbortController();
      const end = () => over.abort();
      signal.addEventListener('abort', end, { once: true });
      const late = clock
        .sleep(timeoutMs, over.signal)
        .then((): ResolveFailed => failed('timeout', `the lookup of ${hostname} took longer than ${timeoutMs} ms`));
      try {
        const answer = await Promise.race([ask(hostname), late]);
        signal.throwIfAborted();
        return answer;
      } finally {
        end();
        signal.removeEventListener('abort', end);
      }
    },
  };
}

async function lookUp(hostname: string, lookup: Lookup, rules: AddressRules): Promise<Resolved | ResolveFailed> {
  let found: Awaited<ReturnType<Lookup>>;
  try {
    found = await lookup(hostname);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? ` (${String(error.code)})` : '';
    return failed('network_error', `the lookup of ${hostname} failed${code}`, error);
  }
  if (found.length === 0) return failed('network_error', `${hostname} has no address`);
  const texts = found.map(({ address }) => address);
  return judged(hostname, texts, rules);
}

/**
 * One forbidden address refuses them all. A name that points at the public and at the inside is a trick, to get the
 * second by failing the first, or a mistake that its owner should hear of.
 */
function judged(hostname: string, texts: readonly string[], rules: AddressRules): Resolved | ResolveFailed {
  const addresses: ResolvedAddress[] = [];
  for (const address of texts) {
    const reason = rules.judge(address);
    if (reason !== null) {
      const what = address === hostname ? reason : `${hostname} is refused: ${reason}`;
      return failed('refused_address', `${what} (TRAWL_ALLOW_ADDRESSES may allow it)`);
    }
    addresses.push({ address, family: isIP(address) === 6 ? 6 : 4 });
  }
  return { kind: 'resolved', addresses };
}

function lookupAll(hostname: string): Promise<readonly { readonly address: string }[]> {
  return systemLookup(hostname, { all: true, order: 'verbatim' });
}

function failed(
  type: 'timeout' | 'network_error' | 'refused_address',
  message: string,
  cause: unknown = null,
): ResolveFailed {
  return { kind: 'failed', failure: failure(type, message, { cause }) };
}
