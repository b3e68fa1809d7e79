import type { ProxyType } from '../domain/proxy-policy.ts';
import {
  type Counting,
  MAX_USAGE_HOST_LENGTH,
  MAX_USAGE_ROWS,
  NO_USAGE,
  OTHER_HOSTS,
  type Usage,
  type UsageRow,
} from '../domain/usage.ts';
import type { HostUsage } from '../egress/web.ts';

/**
 * Counts what one attempt sends and receives in all its tries. Counting continues in the rows that it has handed out.
 */
export class UsageMeter {
  readonly #rows: Row[] = [];

  /** For requests that go out by this kind of proxy. */
  through(proxy: ProxyType): HostUsage {
    return { of: (host) => this.#row(host.slice(0, MAX_USAGE_HOST_LENGTH), proxy) };
  }

  /** What was used so far. */
  read(): Usage {
    if (this.#rows.length === 0) return NO_USAGE;
    const used = this.#rows.filter(({ requests, bytesUp, bytesDown }) => requests + bytesUp + bytesDown > 0);
    return used.length === 0 ? NO_USAGE : used.map((row) => ({ ...row }));
  }

  #row(host: string, proxy: ProxyType): Counting {
    const known = this.#find(host, proxy);
    if (known !== undefined) return known;
    const name = this.#rows.length < MAX_USAGE_ROWS ? host : OTHER_HOSTS;
    const shared = this.#find(name, proxy);
    if (shared !== undefined) return shared;
    const row: Row = { host: name, proxy, requests: 0, bytesUp: 0, bytesDown: 0, refused: 0, blocked: 0 };
    this.#rows.push(row);
    return row;
  }

  #find(host: string, proxy: ProxyType): Row | undefined {
    return this.#rows.find((row) => row.host === host && row.proxy === proxy);
  }
}

type Row = Counting & Pick<UsageRow, 'host' | 'proxy'>;
