import type { FaultKind, PageKind } from './faults.ts';

/** What the county saw: so that a test can say how many requests there were, and how many at once. */
export class Stats {
  #requests = 0;
  readonly #byPage = new Map<PageKind, number>();
  readonly #byFault = new Map<FaultKind | 'latency', number>();
  readonly connections = new Level();
  readonly underWay = new Level();

  request(page: PageKind): void {
    this.#requests += 1;
    this.#byPage.set(page, (this.#byPage.get(page) ?? 0) + 1);
  }

  fault(kind: FaultKind | 'latency'): void {
    this.#byFault.set(kind, (this.#byFault.get(kind) ?? 0) + 1);
  }

  toJSON(): object {
    return {
      requests: this.#requests,
      pages: Object.fromEntries(this.#byPage),
      faults: Object.fromEntries(this.#byFault),
      connections: this.connections,
      underWay: this.underWay,
    };
  }
}

/** The current number, the highest so far, and the total. */
class Level {
  now = 0;
  most = 0;
  total = 0;

  up(): void {
    this.now += 1;
    this.total += 1;
    if (this.now > this.most) this.most = this.now;
  }

  down(): void {
    this.now -= 1;
  }
}
