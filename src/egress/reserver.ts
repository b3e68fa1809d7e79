import type { LineShare } from '../domain/line-book.ts';
import type { Clock } from '../ports/clock.ts';
import type { HostShares, NamedAsk } from '../ports/host-shares.ts';

export interface ReserverDeps {
  readonly shares: HostShares;
  /** Name of this process, unique to this run. */
  readonly process: string;
  readonly clock: Clock;
  readonly onError: (where: string, error: unknown) => void;
}

/** A line that asks for a reservation. */
export interface Asking {
  ask(now: number): NamedAsk;
  take(share: LineShare, askedAt: number): void;
  miss(): void;
}

/** Makes reservations for the lines of this process. Those that ask in one turn of the event loop share one call. */
export class Reserver {
  readonly #deps: ReserverDeps;
  #gathered: Asking[] = [];
  #isFailing = false;

  constructor(deps: ReserverDeps) {
    this.#deps = deps;
  }

  reserve(line: Asking): void {
    this.#gathered.push(line);
    if (this.#gathered.length === 1) queueMicrotask(() => void this.#send());
  }

  async #send(): Promise<void> {
    const { shares, process, clock, onError } = this.#deps;
    const lines = this.#gathered;
    this.#gathered = [];
    const askedAt = clock.elapsed();
    const asks = lines.map((line) => line.ask(askedAt));
    try {
      const answers = await shares.reserve(process, asks, clock.now());
      this.#isFailing = false;
      for (const [at, share] of answers.entries()) lines[at]?.take(share, askedAt);
    } catch (error) {
      // Reported once, however long it lasts.
      if (!this.#isFailing) onError('shares of hosts', error);
      this.#isFailing = true;
      for (const line of lines) line.miss();
    }
  }
}
