import type { ResolverOptions } from 'node:dns';
import { Resolver, lookup as systemLookup } from 'node:dns/promises';
import { networkInterfaces } from 'node:os';
import { errorCode } from '../domain/error-code.ts';
import type { Clock } from '../ports/clock.ts';
import { within } from '../ports/within.ts';
import { HostsFile } from './hosts-file.ts';
import { RereadFile } from './reread-file.ts';
import type { Lookup } from './resolver.ts';

export interface NameLookupDeps {
  readonly clock: Clock;
  /** `ip`, `ip:port` or `[ip]:port`; empty for those of the system. */
  readonly servers: readonly string[];
  /** Whether to ask the C library for names that only it may know. */
  readonly asksSystem?: boolean;
  readonly patience?: Patience;
  readonly hostsFile?: string;
  readonly resolvConf?: string;
  readonly system?: Lookup;
}

/** In milliseconds; see the options of `Resolver` in node:dns. */
type Patience = Required<Pick<ResolverOptions, 'timeout' | 'tries' | 'maxTimeout'>>;

interface NameLookup {
  readonly lookup: Lookup;
  /** Ends lookups under way. */
  close(): void;
}

/**
 * Names are asked for over the network from this thread, by A and by AAAA, with a deadline for each. The C library's
 * getaddrinfo would do it in Node's pool of four threads, without a deadline, and four names whose servers never answer
 * would stop every other lookup, every file and every large page of the process.
 *
 * In this order: `/etc/hosts`; `localhost` and names below it, which are this machine (RFC 6761); DNS. Search domains are
 * not applied. A name without a dot, or below `.local`, that DNS does not know may still be known to the system by other
 * means: getaddrinfo is asked for those, one at a time, unless servers are set.
 */
export function openNameLookup({
  clock,
  servers,
  asksSystem = servers.length === 0,
  patience = PATIENCE,
  hostsFile = '/etc/hosts',
  resolvConf = '/etc/resolv.conf',
  system = lookupBySystem,
}: NameLookupDeps): NameLookup {
  const hosts = new HostsFile(hostsFile, clock);
  const dns = new DnsClient({ clock, servers, patience, resolvConf });
  const lane = new SystemLane(system);

  return {
    async lookup(hostname) {
      const name = hostname.toLowerCase().replace(/\.$/, '');
      const known = await hosts.addressesOf(name);
      if (known.length > 0) return known.map((address) => ({ address }));
      if (name === 'localhost' || name.endsWith('.localhost')) return LOOPBACK;
      try {
        return (await dns.addressesOf(name)).map((address) => ({ address }));
      } catch (error) {
        const mayBeLocal = !name.includes('.') || name.endsWith('.local');
        if (!asksSystem || !mayBeLocal || !isUnknownName(error)) throw error;
        return await lane.lookup(name, error);
      }
    },
    close: () => dns.close(),
  };
}

const LOOPBACK = [{ address: '127.0.0.1' }, { address: '::1' }];

/**
 * A question goes out at once, and again after 1.5, 4.5 and 7.5 seconds (to each server in turn, if there are several):
 * about as long as the usual time for a connection.
 */
const PATIENCE: Patience = { timeout: 1500, tries: 4, maxTimeout: 3000 };

/** After a name has an address of one family, the other may take this long. Some servers never answer for AAAA. */
const OTHER_FAMILY_MS = 1000;

const MAX_CONF_BYTES = 64 * 1024;

type Answer = { readonly addresses: readonly string[]; readonly error: null } | { readonly error: unknown };

interface DnsClientDeps {
  readonly clock: Clock;
  readonly servers: readonly string[];
  readonly patience: Patience;
  readonly resolvConf: string;
}

class DnsClient {
  readonly #deps: DnsClientDeps;
  readonly #conf: RereadFile;
  #confText = '';
  #resolver: Resolver | null = null;
  #isClosed = false;

  constructor(deps: DnsClientDeps) {
    this.#deps = deps;
    this.#conf = new RereadFile(deps.resolvConf, MAX_CONF_BYTES, deps.clock);
  }

  /** At least one. Rejects like the resolver, with a `code`. */
  async addressesOf(name: string): Promise<readonly string[]> {
    const resolver = await this.#current();
    const four = settled(resolver.resolve4(name));
    const six = settled(resolver.resolve6(name));
    const [first, isFour] = await Promise.race([
      four.then((answer) => [answer, true] as const),
      six.then((answer) => [answer, false] as const),
    ]);
    // The name does not exist at all, whatever the record type.
    if (first.error !== null && errorCode(first.error) === 'ENOTFOUND') throw first.error;
    const other = isFour ? six : four;
    const second = first.error === null ? await this.#within(OTHER_FAMILY_MS, other) : await other;
    const [v4, v6] = isFour ? [first, second] : [second, first];
    const [found4, found6] = [addressesIn(v4), addressesIn(v6)];
    if (found4.length + found6.length === 0) throw moreTelling(v4.error, v6.error);
    return hasGlobalIpv6() ? [...found6, ...found4] : [...found4, ...found6];
  }

  close(): void {
    this.#isClosed = true;
    this.#resolver?.cancel();
  }

  /** A resolver for the current servers: a machine that changes its network gets others. */
  async #current(): Promise<Resolver> {
    if (this.#isClosed) throw Object.assign(new Error('the resolver is closed'), { code: 'ECANCELLED' });
    const { servers, patience } = this.#deps;
    const text = servers.length > 0 ? '' : await this.#conf.text();
    if (this.#resolver === null || text !== this.#confText) {
      // Queries under way on the former one end by themselves.
      this.#confText = text;
      this.#resolver = new Resolver(patience);
      if (servers.length > 0) this.#resolver.setServers(servers);
    }
    return this.#resolver;
  }

  async #within(ms: number, answer: Promise<Answer>): Promise<Answer> {
    return await within(this.#deps.clock, ms, answer, () => ({ addresses: [], error: null }));
  }
}

/** Calls getaddrinfo, one at a time: it may hang, and occupies a thread of the pool while it does. */
class SystemLane {
  readonly #system: Lookup;
  #last: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  constructor(system: Lookup) {
    this.#system = system;
  }

  /** Rejects with `otherwise` if too many callers are already waiting. */
  async lookup(name: string, otherwise: unknown): Promise<Awaited<ReturnType<Lookup>>> {
    if (this.#waiting >= MAX_WAITING) throw otherwise;
    this.#waiting += 1;
    const turn = this.#last.then(() => this.#system(name));
    this.#last = turn.catch(() => undefined);
    return await turn.finally(() => {
      this.#waiting -= 1;
    });
  }
}

const MAX_WAITING = 32;

function lookupBySystem(hostname: string): ReturnType<Lookup> {
  return systemLookup(hostname, { all: true, order: 'verbatim' });
}

function settled(addresses: Promise<readonly string[]>): Promise<Answer> {
  return addresses.then(
    (found): Answer => ({ addresses: found, error: null }),
    (error: unknown): Answer => ({ error }),
  );
}

function addressesIn(answer: Answer): readonly string[] {
  return 'addresses' in answer ? answer.addresses : [];
}

/** A missing address of one family says less than why the other could not be found. */
function moreTelling(first: unknown, second: unknown): unknown {
  return isUnknownName(first) ? second : first;
}

function isUnknownName(error: unknown): boolean {
  return errorCode(error) === 'ENOTFOUND' || errorCode(error) === 'ENODATA';
}

/** In the order of getaddrinfo: without a route to IPv6, its addresses come last. */
function hasGlobalIpv6(): boolean {
  return Object.values(networkInterfaces())
    .flat()
    .some((each) => each !== undefined && each.family === 'IPv6' && !each.internal && !/^f[cde]/.test(each.address));
}
