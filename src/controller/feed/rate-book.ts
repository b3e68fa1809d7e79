import { type JobPace, measurePace } from '../../domain/job-pace.ts';
import type { Clock } from '../../ports/clock.ts';
import type { EngineEvent, EventStream } from '../engine/events.ts';

/**
 * How fast jobs run: items per second over about the last half minute. It keeps a few numbers per running job, forgotten
 * when the job stops for good; counting costs one addition per batch of outcomes.
 */
export class RateBook {
  readonly #clock: Clock;
  readonly #maxJobs: number;
  readonly #rates = new Map<string, Rate>();
  readonly #unsubscribe: () => void;

  constructor({ events, clock, maxJobs = 1000 }: { events: EventStream; clock: Clock; maxJobs?: number }) {
    this.#clock = clock;
    this.#maxJobs = maxJobs;
    this.#unsubscribe = events.subscribe((event) => this.#hear(event));
  }

  /** Null until there is enough data: nothing was settled here, or too little time has passed since. */
  pace(jobId: string): JobPace | null {
    const rate = this.#rates.get(jobId);
    return rate === undefined ? null : paceAt(rate, this.#clock.elapsed());
  }

  /** Number of jobs with data. */
  get size(): number {
    return this.#rates.size;
  }

  close(): void {
    this.#unsubscribe();
    this.#rates.clear();
  }

  #hear(event: EngineEvent): void {
    if (event.kind === 'settled') this.#count(event.jobId, event.items.length);
    else if (event.kind === 'job' && event.job.status !== 'in_progress' && event.job.status !== 'pending') {
      // Its earlier pace says nothing about its pace after a pause or in another round.
      this.#rates.delete(event.job.jobId);
    }
  }

  #count(jobId: string, items: number): void {
    const at = this.#clock.elapsed();
    const slot = Math.floor(at / SLOT_MS);
    const rate = this.#rates.get(jobId);
    if (rate === undefined) {
      this.#makeRoom(slot);
      // How long the first ones took is unknown: they only start the measurement.
      this.#rates.set(jobId, { since: at, heard: slot, latest: slot, counts: new Float64Array(SLOTS) });
      return;
    }
    clearUntil(rate, slot);
    rate.heard = slot;
    rate.counts[slot % SLOTS] = (rate.counts[slot % SLOTS] ?? 0) + items;
  }

  /** Jobs without news for a whole window go first, then those with the oldest news. */
  #makeRoom(slot: number): void {
    if (this.#rates.size < this.#maxJobs) return;
    for (const [jobId, { heard }] of this.#rates) if (slot - heard >= SLOTS) this.#rates.delete(jobId);
    const [first] = this.#rates.keys();
    if (this.#rates.size >= this.#maxJobs && first !== undefined) this.#rates.delete(first);
  }
}

const SLOT_MS = 2000;
/** The current one, and half a minute before it. */
const SLOTS = 16;
const LEAST_MS = 1000;

interface Rate {
  readonly since: number;
  /** The slot in which something was settled last. */
  heard: number;
  /** The slot up to which the counts are those of the last half minute. */
  latest: number;
  readonly counts: Float64Array;
}

function clearUntil(rate: Rate, slot: number): void {
  const passed = Math.min(SLOTS, slot - rate.latest);
  for (let back = 0; back < passed; back += 1) rate.counts[(slot - back) % SLOTS] = 0;
  rate.latest = slot;
}

function paceAt(rate: Rate, at: number): JobPace | null {
  clearUntil(rate, Math.floor(at / SLOT_MS));
  const windowStart = (rate.latest - SLOTS + 1) * SLOT_MS;
  const coveredMs = at - Math.max(rate.since, windowStart);
  if (coveredMs < LEAST_MS) return null;
  const items = rate.counts.reduce((sum, count) => sum + count, 0);
  return measurePace(items, coveredMs / 1000, fullSlots(rate));
}

/** The counts of finished slots, except the one in which the measurement began. */
function fullSlots({ counts, latest, since }: Rate): number[] {
  const first = Math.max(latest - SLOTS + 1, Math.floor(since / SLOT_MS) + 1);
  return Array.from({ length: Math.max(0, latest - first) }, (_, at) => counts[(first + at) % SLOTS] ?? 0);
}
