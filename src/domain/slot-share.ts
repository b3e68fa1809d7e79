/**
 * How jobs share one worker process. A batch being processed takes a *slot*; every batch that the process has, whether
 * active or parked until a host admits it, takes a *place*.
 * A job may take one more while it has fewer than are free: the rule of dynamic thresholds for shared buffers
 * (Choudhury and Hahne, 1998). A single job ends up with half of what there is, two with a third each, and there is
 * room for a newcomer at once, without taking anything from a job that was first and hangs. A fixed quota per job was
 * ruled out: it is either too small for one job or too large for ten. So that a single job still gets all the
 * configured slots, there are twice as many.
 */

/** Slots of all jobs together in a process configured for `slots` per job. */
export function slotsOfAllJobs(slots: number): number {
  return 2 * slots;
}

/** Batches that such a process may have, including parked ones: this limits its memory. */
export function placesOfAllJobs(slots: number): number {
  return 2 * slotsOfAllJobs(slots);
}

/**
 * What a process has room for at this moment. It is a plain value, because it may have to travel to the owner of the
 * queue.
 */
export interface Room {
  /** No more than this many batches, of whatever jobs. */
  readonly most: number;
  readonly freeSlots: number;
  readonly freePlaces: number;
  /** What it has now. A job that is not listed has nothing here. */
  readonly jobs: readonly JobHolding[];
}

/** Batches of a job being processed, and all it has here. */
export type JobHolding = readonly [jobId: string, busy: number, held: number];

/** Whether some job already has its share. If none has, a receiver gets whatever comes first, and need not say more. */
export function turnsSomeAway({ freeSlots, freePlaces, jobs }: Room): boolean {
  return jobs.some(([, busy, held]) => busy >= freeSlots || held >= freePlaces);
}

/** Decides, batch by batch, what fits into a room. */
export class Admission {
  #left: number;
  #freeSlots: number;
  #freePlaces: number;
  readonly #jobs = new Map<string, { busy: number; held: number }>();

  constructor({ most, freeSlots, freePlaces, jobs }: Room) {
    this.#freeSlots = freeSlots;
    this.#freePlaces = freePlaces;
    this.#left = Math.min(most, freeSlots, freePlaces);
    for (const [jobId, busy, held] of jobs) this.#jobs.set(jobId, { busy, held });
  }

  /** How many more there is room for, if their jobs have few. */
  get left(): number {
    return this.#left;
  }

  /** Whether there is room for a batch of this job. */
  admits(jobId: string): boolean {
    if (this.#left <= 0) return false;
    const { busy, held } = this.#jobs.get(jobId) ?? NOTHING;
    return busy < this.#freeSlots && held < this.#freePlaces;
  }

  /** Counts the batch, whether or not there was room. */
  enter(jobId: string): void {
    const { busy, held } = this.#jobs.get(jobId) ?? NOTHING;
    this.#jobs.set(jobId, { busy: busy + 1, held: held + 1 });
    this.#left -= 1;
    this.#freeSlots -= 1;
    this.#freePlaces -= 1;
  }
}

const NOTHING = { busy: 0, held: 0 } as const;
