import { type JobHolding, placesOfAllJobs, type Room, slotsOfAllJobs } from '../domain/slot-share.ts';
import type { ReceiverRoom } from '../ports/work-queue.ts';

/**
 * The slots and places of one process, and which jobs have them (`domain/slot-share.ts` says who may take more). A place
 * is
 *
 *   free
 *   busy     its batch is at work, or about to be: it has a slot, too
 *   parked   its batch waits at the gate of a host, and its slot is free for another
 *
 * A batch that was parked goes on as soon as it is admitted, even when all slots are taken by then: a turn at a host must
 * not pass unused. So for a while more may be busy than there are slots, but never more than there are places.
 */
export class Slots implements ReceiverRoom {
  readonly #slots: number;
  readonly #freePlaces: number[];
  readonly #jobs = new Map<string, Holding>();
  readonly #listeners = new Set<() => void>();
  #busy = 0;

  /** `slots` is what a single job may have. */
  constructor(slots: number) {
    this.#slots = slotsOfAllJobs(slots);
    this.#freePlaces = Array.from({ length: placesOfAllJobs(slots) }, (_, index) => index);
  }

  /** Whether anything could be taken, if its job has few here. */
  get hasRoom(): boolean {
    return this.#busy < this.#slots && this.#freePlaces.length > 0;
  }

  now(): Room {
    const freeSlots = Math.max(0, this.#slots - this.#busy);
    const jobs = Array.from(this.#jobs, ([jobId, { busy, held }]): JobHolding => [jobId, busy, held]);
    return { most: MOST_AT_ONCE, freeSlots, freePlaces: this.#freePlaces.length, jobs };
  }

  onMore(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** A place for a batch of this job, and a slot with it. */
  occupy(jobId: string): Place {
    const index = this.#freePlaces.pop();
    if (index === undefined) throw new Error('worker: more leases than places');
    const holding = this.#jobs.get(jobId) ?? { busy: 0, held: 0 };
    this.#jobs.set(jobId, holding);
    holding.held += 1;
    this.#count(holding, 1);
    return this.#place(jobId, index, holding);
  }

  #place(jobId: string, index: number, holding: Holding): Place {
    // A scraper that waits at one gate while it works beyond another is also parked: rare, and limited by the places.
    let waits = 0;
    let isFree = false;
    return {
      index,
      park: () => {
        waits += 1;
        if (waits === 1 && !isFree) {
          this.#count(holding, -1);
          this.#tellMore();
        }
        let isOver = false;
        return () => {
          if (isOver) return;
          isOver = true;
          waits -= 1;
          if (waits === 0 && !isFree) this.#count(holding, 1);
        };
      },
      leave: () => {
        if (isFree) return;
        isFree = true;
        if (waits === 0) this.#count(holding, -1);
        holding.held -= 1;
        if (holding.held === 0) this.#jobs.delete(jobId);
        this.#freePlaces.push(index);
        this.#tellMore();
      },
    };
  }

  #count(holding: Holding, change: 1 | -1): void {
    holding.busy += change;
    this.#busy += change;
  }

  #tellMore(): void {
    for (const tell of [...this.#listeners]) tell();
  }
}

/** Where a batch is while the process holds it. */
export interface Place {
  /** Its number, unique among the current batches of the process. */
  readonly index: number;
  /** The batch waits for a host, and needs no slot meanwhile. Returns the function that continues it. */
  park(): () => void;
  leave(): void;
}

interface Holding {
  busy: number;
  held: number;
}

/**
 * A claim is one step of the ledger, and other callers wait meanwhile: about a millisecond at this number. With 32, the
 * ledger made more than twice as many transactions for the same items.
 */
const MOST_AT_ONCE = 128;
