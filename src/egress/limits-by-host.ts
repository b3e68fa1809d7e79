import type { HostLimits } from '../domain/host-settings.ts';
import { type LineLimits, NO_LIMITS, stricterLimits } from '../domain/line-limits.ts';

/** Browsers open six connections to a host, and a county's site can serve a few browsers at once. */
const DEFAULTS: LineLimits = { ...NO_LIMITS, maxConcurrent: 16 };

/** The limits of each host, from the configuration, from operators and from its robots.txt. */
export class LimitsByHost {
  readonly #usual: LineLimits;
  readonly #special = new Map<string, LineLimits>();
  /** What operators have set. */
  readonly #set = new Map<string, HostLimits>();
  /** Delays that robots.txt files ask for. */
  readonly #asked = new Map<string, number>();

  constructor(usual: Partial<LineLimits>, hosts: Readonly<Record<string, Partial<LineLimits>>>) {
    this.#usual = { ...DEFAULTS, ...usual };
    for (const [host, wish] of Object.entries(hosts)) this.#special.set(host, { ...this.#usual, ...wish });
  }

  /** Operators' settings replace the configuration field by field; of the rest, the strictest applies. */
  of(host: string): LineLimits {
    const usual = this.#special.get(host) ?? this.#usual;
    const set = this.#set.get(host);
    const own = {
      maxConcurrent: set?.maxConcurrent ?? usual.maxConcurrent,
      requestsPerSecond: set?.requestsPerSecond ?? usual.requestsPerSecond,
      minDelayMs: set?.minDelayMs ?? usual.minDelayMs,
    };
    return stricterLimits(own, { ...NO_LIMITS, minDelayMs: this.#asked.get(host) ?? 0 });
  }

  set(host: string, limits: HostLimits | null): void {
    if (limits === null) this.#set.delete(host);
    else this.#set.set(host, limits);
  }

  setMinDelay(host: string, ms: number): void {
    if (ms > 0) this.#asked.set(host, ms);
    else this.#asked.delete(host);
  }
}
