import type { HostShares } from '../../src/ports/host-shares.ts';
import type { Leadership } from '../../src/ports/leadership.ts';
import type { Ledger } from '../../src/ports/ledger.ts';
import type { ResultStore } from '../../src/ports/result-store.ts';
import type { WorkQueue } from '../../src/ports/work-queue.ts';
import { SimFault } from './network.ts';
import type { SimProcess } from './sim-process.ts';

/** Ledger, queue, results and host shares of a simulated world, without faults: those are put in front, per process. */
export interface Backend {
  readonly kind: 'memory' | 'sqlite';
  readonly ledger: Ledger;
  readonly queue: WorkQueue;
  readonly leadership: Leadership;
  readonly store: ResultStore;
  readonly shares: HostShares;
  /** Whether the process that owns the ledger is down. Always false where the ledger has no owner. */
  readonly isAway: boolean;
  readonly owner: SimProcess | null;
  /** Differs each time the ledger is opened. */
  readonly life: number;
  /** A machine went down, and with it what was applied and not yet on the disk. */
  readonly hasLostWrites: boolean;
  /** A small durable write. */
  probe(): Promise<void>;
  /** A controller has stopped: if it owned the ledger, it closes it. */
  closed(process: SimProcess): Promise<void>;
  /** What is under way when the owner dies is rejected then. */
  during<T>(run: () => Promise<T>): Promise<T>;
  /** Removes everything that it left on a disk. */
  dispose(): void;
}

/** Calls under way, so that they can be cut off together. */
export class OpenCalls {
  readonly #cut = new Set<(error: Error) => void>();

  during<T>(run: () => Promise<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    this.#cut.add(reject);
    run().then(
      (answer) => {
        this.#cut.delete(reject);
        resolve(answer);
      },
      (error: unknown) => {
        this.#cut.delete(reject);
        reject(error);
      },
    );
    return promise;
  }

  cutAll(): void {
    const cut = [...this.#cut];
    this.#cut.clear();
    for (const reject of cut) reject(new SimFault('the owner of the ledger is gone'));
  }
}
