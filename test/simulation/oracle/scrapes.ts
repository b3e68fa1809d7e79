import type { SimProcess } from '../sim-process.ts';
import type { Model, ModelItem, ModelJob, ModelLease } from './model.ts';
import type { StrikeOracle } from './strikes.ts';

/** What a scraper is given to begin with. */
export interface Scrape {
  readonly jobId: string;
  readonly itemId: string;
  readonly tryNumber: number;
  readonly signal: AbortSignal;
}

/** Work at items: counted before it begins, marked where it is suspect, alone where it must be, and given back when a worker stops. */
export class ScrapeOracle {
  readonly #model: Model;
  readonly #strikes: StrikeOracle;
  readonly #fail: (message: string) => void;
  readonly #running = new Map<SimProcess, Set<{ readonly signal: AbortSignal; readonly isAlone: boolean }>>();

  constructor(model: Model, strikes: StrikeOracle, fail: (message: string) => void) {
    this.#model = model;
    this.#strikes = strikes;
    this.#fail = fail;
  }

  begins(process: SimProcess, { jobId, itemId, tryNumber, signal }: Scrape): void {
    const job = this.#model.jobs.get(jobId);
    const item = itemOf(job, itemId);
    if (job === undefined || item === undefined) return;
    const name = `${jobId}/${itemId}`;
    if (tryNumber === 1 && !job.isFoggy && !job.isSecondLife) {
      item.starts += 1;
      if (item.starts > item.deliveries) {
        this.#fail(`${name} was begun ${item.starts} times, and ${item.deliveries} deliveries are counted`);
      }
    }
    const lease = leaseOf(job, item);
    // A worker that had it before may still be working on it, not knowing that its lease is lost.
    const isSuspect = lease?.worker === process.name && lease.suspect && item.takers.get(process.name) === 1;
    if (isSuspect && lease.begun !== item.seq) this.#fail(`${name} is suspect, and was begun without a mark`);
    this.#runsAlone(process, { signal, isAlone: isSuspect && lease.alone }, name);
  }

  kills(process: SimProcess, jobId: string, itemId: string): void {
    const job = this.#model.jobs.get(jobId);
    const item = itemOf(job, itemId);
    if (job === undefined || item === undefined) return;
    // A worker that has lost its lease was blamed for that already.
    this.#strikes.kills(process, item, leaseOf(job, item)?.worker === process.name);
  }

  /** A worker was asked to stop, and has stopped: it must have given back or finished all that it had. */
  drained(process: SimProcess): void {
    for (const { job, lease, batch } of this.#model.leases.values()) {
      // The cancel took items out of batches, and after a crash of the machine it is not known which: the batch may be over.
      if (job.isFoggy && job.status === 'cancelled') continue;
      // A suspect batch that was not begun may be left: it runs out, and no item is charged.
      const isFree = lease.suspect && !batch.items?.some(({ seq }) => seq === lease.begun);
      if (lease.worker === process.name && process.wrongedAt < lease.askedAt && !isFree) {
        this.#fail(`${process.name} was drained, and still has the lease ${lease.token}`);
      }
    }
  }

  #runsAlone(process: SimProcess, scrape: { signal: AbortSignal; isAlone: boolean }, name: string): void {
    const running = this.#running.get(process) ?? new Set();
    this.#running.set(process, running);
    for (const other of running) if (other.signal.aborted) running.delete(other);
    const isBeside = scrape.isAlone ? running.size > 0 : [...running].some((other) => other.isAlone);
    if (isBeside) this.#fail(`${name} runs beside another item in ${process.name}, and one of the two must not`);
    running.add(scrape);
  }
}

function itemOf(job: ModelJob | undefined, itemId: string): ModelItem | undefined {
  return job?.items.find((item) => item.itemId === itemId);
}

function leaseOf(job: ModelJob, item: ModelItem): ModelLease | null {
  for (const { lease, items } of job.batches.values()) if (items?.includes(item)) return lease;
  return null;
}
