import { MAX_STRIKES } from '../../../src/domain/strikes.ts';
import type { SimProcess } from '../sim-process.ts';
import type { ModelItem, ModelLease, StrikeCause } from './model.ts';

/**
 * Who is to blame. A lease may run out only if its worker ended, or the world did it wrong: it was stalled, or its claim
 * or its renewals got lost. Nothing else that fails is a reason, least of all an error of our own. So an item may be
 * failed as poison only for what it did itself, or for what the world did to its worker while the item was in its hands. What a
 * neighbour did may count against it, but never be its last strike: before that one it runs alone.
 */
export class StrikeOracle {
  readonly #processes = new Map<string, SimProcess>();
  readonly #killers = new Map<string, string>();
  readonly #fail: (message: string) => void;
  readonly #mayNotKnow: (reaper: SimProcess) => boolean;
  /** Clocks were set: from then on a lease may seem to have run out at any time. */
  areClocksOff = false;

  /** `mayNotKnow`: whether that controller is too young to know that leases could not be renewed for a while. */
  constructor(fail: (message: string) => void, mayNotKnow: (reaper: SimProcess) => boolean) {
    this.#fail = fail;
    this.#mayNotKnow = mayNotKnow;
  }

  knows(worker: string, process: SimProcess): void {
    this.#processes.set(worker, process);
  }

  /** Called when an item kills its worker. */
  kills(process: SimProcess, item: ModelItem, isHeld: boolean): void {
    this.#killers.set(process.name, nameOf(item));
    if (isHeld) item.kills += 1;
    if (item.kills > MAX_STRIKES) this.#fail(`${nameOf(item)} killed its worker ${item.kills} times`);
  }

  causeOf(lease: ModelLease, reaper: SimProcess): (item: ModelItem) => StrikeCause {
    const process = this.#processes.get(lease.worker);
    const killer = this.#killers.get(lease.worker);
    // A worker that was wronged may have left the batch before, lease and mark and all: then the death was not this one's.
    const isNeighbour = process !== undefined && process.wrongedAt < lease.askedAt;
    if (killer !== undefined) {
      return (item) => (nameOf(item) === killer ? 'own kill' : isNeighbour ? 'kill by a neighbour' : 'silence');
    }
    if (process === undefined || process.isOver) return () => 'crash';
    const isExcused = this.areClocksOff || this.#mayNotKnow(reaper);
    if (process.wrongedAt < lease.askedAt && !isExcused) {
      this.#fail(`${lease.worker} is well and was never disturbed, and lost its lease ${lease.token}`);
    }
    return () => 'silence';
  }

  struck(item: ModelItem, cause: StrikeCause): void {
    item.causes.push(cause);
  }

  poisoned(item: ModelItem): void {
    const byNeighbours = item.causes.filter((cause) => cause === 'kill by a neighbour').length;
    if (byNeighbours >= MAX_STRIKES || item.causes.at(-1) === 'kill by a neighbour')
      this.#fail(`${nameOf(item)} is poison, and ${byNeighbours} of its strikes were a neighbour's`);
  }
}

function nameOf({ jobId, itemId }: ModelItem): string {
  return `${jobId}/${itemId}`;
}
