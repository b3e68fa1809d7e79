import { isIP } from 'node:net';
import { errorCode } from '../domain/error-code.ts';
import { type Failure, failure } from '../domain/failure.ts';
import type { Clock } from '../ports/clock.ts';
import type { AddressRules } from './address-rules.ts';

export interface ResolvedAddress {
  readonly address: string;
  readonly family: 4 | 6;
}

interface Resolved {
  readonly kind: 'resolved';
  /** At least one, each of them allowed. These are dialled; the name is not looked up again. */
  readonly addresses: readonly ResolvedAddress[];
}

interface ResolveFailed {
  readonly kind: 'failed';
  readonly failure: Failure;
}

export interface Resolver {
  /**
   * Rejects only when `signal` aborts, with the signal's reason. `hostname` is a name or an address without brackets.
   */
  resolve(hostname: string, signal: AbortSignal, timeoutMs: number): Promise<Resolved | ResolveFailed>;
}

/** All addresses of a name. Rejects as `node:dns` does, with a `code`: `ETIMEOUT` if no server answered. */
export type Lookup = (hostname: string) => Promise<readonly { readonly address: string }[]>;

export interface ResolverOptions {
  readonly rules: AddressRules;
  readonly lookup: Lookup;
  readonly clock: Clock;
}

/** Long enough for the requests of one item, short enough to follow a site that moves. */
const REMEMBERED_MS = 10_000;
const MAX_REMEMBERED = 1000;

/** A lookup cannot be stopped. New callers do not wait for one that hangs for longer than this. */
const MAX_SHARED_MS = 30_000;

/**
 * A name whose servers once did not answer is still looked up, since they may be back, but for this long no request waits
 * the whole deadline for it again: each wait occupies a worker slot.
 */
const HUNG_MS = 60_000;
const HUNG_PATIENCE_MS = 1000;
/** Before that it is only slow, and an impatient job must not make the others impatient. */
const HUNG_AFTER_MS = 5000;

interface Entry {
  readonly askedAt: number;
  readonly answer: Promise<Resolved | ResolveFailed>;
  goodUntil: number;
}

export function openResolver({ rules, lookup, clock }: ResolverOptions): Resolver {
  // In flight or remembered, oldest first.
  const entries = new Map<string, Entry>();
  // Names that did not answer in time, and until when to remember that; oldest first.
  const hung = new Map<string, number>();

  function ask(hostname: string): Promise<Resolved | ResolveFailed> {
    const known = entries.get(hostname);
    if (known !== undefined && clock.elapsed() < known.goodUntil) return known.answer;
    const entry: Entry = {
      askedAt: clock.elapsed(),
      answer: lookUp(hostname, lookup, rules).then((answer) => {
        if (answer.kind === 'failed' && answer.failure.type === 'timeout') rememberHung(hostname);
        else hung.delete(hostname);
        if (entries.get(hostname) !== entry) return answer;
        entries.delete(hostname);
        // A failed lookup is not remembered: the next one may succeed.
        if (answer.kind === 'resolved' || answer.failure.type === 'refused_address') {
          entry.goodUntil = clock.elapsed() + REMEMBERED_MS;
          entries.set(hostname, entry);
        }
        return answer;
      }),
      goodUntil: clock.elapsed() + MAX_SHARED_MS,
    };
    setNewest(entries, hostname, entry);
    return entry.answer;
  }

  function rememberHung(hostname: string): void {
    setNewest(hung, hostname, clock.elapsed() + HUNG_MS);
  }

  function patienceFor(hostname: string, timeoutMs: number): number {
    const isHung = clock.elapsed() < (hung.get(hostname) ?? 0);
    return isHung ? Math.min(HUNG_PATIENCE_MS, timeoutMs) : timeoutMs;
  }

  return {
    async resolve(hostname, signal, timeoutMs) {
      signal.throwIfAborted();
      if (isIP(hostname) !== 0) return judged(hostname, [hostname], rules);
      const over = new AbortController();
      const end = () => over.abort();
      signal.addEventListener('abort', end, { once: true });
      const patienceMs = patienceFor(hostname, timeoutMs);
      const late = clock.sleep(patienceMs, over.signal).then((): ResolveFailed => {
        const askedAt = entries.get(hostname)?.askedAt ?? clock.elapsed();
        if (!over.signal.aborted && clock.elapsed() - askedAt >= HUNG_AFTER_MS) rememberHung(hostname);
        return failed('timeout', `the lookup of ${hostname} took longer than ${patienceMs} ms`);
      });
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
    const code = errorCode(error);
    if (code === 'ETIMEOUT') return failed('timeout', `no DNS server answered for ${hostname}`, error);
    const shown = code === null ? '' : ` (${code})`;
    return failed('network_error', `the lookup of ${hostname} failed${shown}`, error);
  }
  if (found.length === 0) return failed('network_error', `${hostname} has no address`);
  const texts = found.map(({ address }) => address);
  return judged(hostname, texts, rules);
}

/**
 * One forbidden address refuses them all. A name with both public and internal addresses is a trick, to reach the
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

/** Adds the entry, or moves it to the end; the oldest ones make room for it. */
function setNewest<V>(map: Map<string, V>, key: string, value: V): void {
  map.delete(key);
  map.set(key, value);
  for (const oldest of map.keys()) {
    if (map.size <= MAX_REMEMBERED) break;
    map.delete(oldest);
  }
}

function failed(
  type: 'timeout' | 'network_error' | 'refused_address',
  message: string,
  cause: unknown = null,
): ResolveFailed {
  return { kind: 'failed', failure: failure(type, message, { cause }) };
}
