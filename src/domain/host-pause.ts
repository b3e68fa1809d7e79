/** A host that asked to be left alone. */
export interface HostPause {
  /** As in an address, in lower case: `county.gov`, with the port unless it is the default one. */
  readonly host: string;
  /** The host is not visited before this time. */
  readonly until: number;
  /** What it answered, in words. */
  readonly reason: string;
  /** Worker processes that the host itself asked to wait. */
  readonly reportedBy: number;
}

/** A pause that a host asked a worker for, and when. */
export interface PauseReport extends Omit<HostPause, 'reportedBy'> {
  readonly at: number;
}

/** Longer reasons are cut; they are only for people. */
export const MAX_REASON_LENGTH = 500;

/** A shorter pause is over before other processes would learn of it, and is not reported. */
export const MIN_SHARED_PAUSE_MS = 10_000;

/** No policy allows a longer one: a later end was set by a wrong clock. */
export const MAX_PAUSE_MS = 86_400_000;

/** Normalises `Treasurer.County.gov:80` to `treasurer.county.gov`, the form in reports; null if it is not a host. */
export function parseHost(text: string): string | null {
  if (/[\s/?#@\\]/.test(text)) return null;
  const host = URL.parse(`http://${text}`)?.host ?? '';
  return host === '' ? null : host;
}

interface Entry extends Omit<HostPause, 'reportedBy'> {
  readonly workers: Set<string>;
  /** Kept for as long as the pause would have lasted: reports of earlier answers may still be on their way. */
  readonly liftedAt: number | null;
}

/** Pauses of hosts, in memory. Expired ones are dropped along the way. */
export class PauseBook {
  readonly #entries = new Map<string, Entry>();

  pause({ host, until, reason, at }: PauseReport, worker: string, now: number): void {
    const known = this.#current(host, now);
    if (known !== null && known.liftedAt !== null && at <= known.liftedAt) return;
    if (known === null || known.liftedAt !== null) {
      this.#entries.set(host, { host, until, reason, workers: new Set([worker]), liftedAt: null });
      return;
    }
    known.workers.add(worker);
    if (until > known.until) this.#entries.set(host, { ...known, until, reason });
  }

  inForce(now: number): readonly HostPause[] {
    return [...this.#entries.keys()].sort().flatMap((host): HostPause[] => {
      const entry = this.#current(host, now);
      if (entry === null || entry.liftedAt !== null) return [];
      const { until, reason, workers } = entry;
      return [{ host, until, reason, reportedBy: workers.size }];
    });
  }

  lift(host: string, now: number): boolean {
    const known = this.#current(host, now);
    if (known === null || known.liftedAt !== null) return false;
    this.#entries.set(host, { ...known, liftedAt: now });
    return true;
  }

  #current(host: string, now: number): Entry | null {
    const entry = this.#entries.get(host);
    if (entry === undefined) return null;
    if (entry.until > now && entry.until <= now + MAX_PAUSE_MS) return entry;
    this.#entries.delete(host);
    return null;
  }
}
