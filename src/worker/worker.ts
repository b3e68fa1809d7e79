import type { Lane } from '../domain/lane.ts';
import type { Clock } from '../ports/clock.ts';
import type { Lease, WorkerLeases, WorkOrder } from '../ports/ledger.ts';
import { StorageTrouble } from '../ports/storage-trouble.ts';
import type { Delivery, WorkerQueue } from '../ports/work-queue.ts';
import type { Taken, WorkSource } from '../ports/work-source.ts';
import type { ScraperRegistry } from '../scraping/registry.ts';
import type { AttemptParts } from './attempt.ts';
import { type BatchEnd, runBatch } from './batch.ts';
import type { Heartbeat } from './heartbeat.ts';
import { Settler } from './settle.ts';

/**
 * The loop of a worker: receive, claim, carry out, settle, acknowledge; as many batches at once as it has slots. It is
 *
 *   working    receives whenever a slot is free
 *   secluded   a batch that must run alone waits or runs: nothing is received until all else has ended, so that if the
 *              process dies, the guilty item is known
 *   draining   told to stop: receives nothing, finishes what it has within a grace, then releases the rest uncharged
 */
export class Worker {
  readonly #parts: WorkerParts;
  readonly #settler: Settler;
  readonly #freeSlots: number[];
  readonly #running = new Map<string, { cut: AbortController; ended: Promise<void> }>();
  readonly #secluded: { lease: Lease; delivery: Delivery; slot: number }[] = [];
  /** Leases that were taken up here, ended ones included: whatever asks for one again does not begin it twice. */
  #taken = new Set<string>();
  #takenBefore: ReadonlySet<string> = new Set();
  readonly #orders = new Map<string, { readonly order: WorkOrder; readonly askedAt: number }>();
  /** Resolves when a batch ends or the worker is told to stop. */
  #change = Promise.withResolvers<void>();

  constructor(parts: WorkerParts) {
    this.#parts = parts;
    this.#settler = new Settler(parts.leases, parts.clock);
    this.#freeSlots = Array.from({ length: parts.settings.slots }, (_, index) => index);
    parts.heartbeat.onLost((token) => this.#running.get(token)?.cut.abort(LOST));
  }

  /** Works until `stop` aborts and what it holds is finished or given back. Rejects if its queue or ledger is gone. */
  async run(stop: AbortSignal): Promise<void> {
    stop.addEventListener('abort', () => this.#tellChange(), { once: true });
    try {
      await this.#work(stop);
    } catch (error) {
      await this.#letGo();
      throw error;
    }
    await this.#drain();
  }

  async #work(stop: AbortSignal): Promise<void> {
    while (!stop.aborted) {
      if (this.#secluded.length > 0) {
        await this.#runNextSecluded(stop);
        continue;
      }
      if (this.#freeSlots.length === 0) {
        await this.#change.promise;
        continue;
      }
      await this.#beginAll(await this.#take(stop));
    }
  }

  /** There is nobody to hand anything to: what it holds is somebody else's when its lease runs out. */
  async #letGo(): Promise<void> {
    for (const { cut } of this.#running.values()) cut.abort(LOST);
    await this.#allEnded();
    await this.#parts.heartbeat.stop();
  }

  async #take(stop: AbortSignal): Promise<readonly Taken[]> {
    const { source, settings, clock, onError } = this.#parts;
    try {
      return await source.take(settings.lane, Math.min(this.#freeSlots.length, MOST_AT_ONCE), settings.leaseMs, stop);
    } catch (error) {
      // A ledger without room cannot count a delivery. The messages come again when their time is over.
      if (!(error instanceof StorageTrouble)) throw error;
      onError('take', error);
      await clock.sleep(settings.leaseMs / 4, stop);
      return [];
    }
  }

  /** Also when it is to stop by now: what is claimed is drained like all else. */
  async #beginAll(taken: readonly Taken[]): Promise<void> {
    const useless: string[] = [];
    for (const { delivery, answer } of taken) {
      if (answer === 'gone') useless.push(delivery.receipt);
      else if (answer !== 'held' && !this.#knows(answer.token)) this.#begin(answer, delivery);
    }
    if (useless.length > 0) await this.#parts.queue.ack(useless);
  }

  /**
   * A message may come twice, and whoever asks again for what it holds gets the same lease; the answer may even come
   * when that batch has ended. One that failed is left to run out.
   */
  #knows(token: string): boolean {
    return this.#taken.has(token) || this.#takenBefore.has(token) || this.#running.has(token);
  }

  #begin(lease: Lease, delivery: Delivery): void {
    const slot = this.#freeSlots.pop();
    if (slot === undefined) throw new Error('worker: more leases than slots');
    this.#remember(lease.token);
    this.#parts.heartbeat.hold(slot, { token: lease.token, receipt: delivery.receipt });
    if (lease.alone) this.#secluded.push({ lease, delivery, slot });
    else this.#start(lease, delivery, slot);
  }

  #start(lease: Lease, delivery: Delivery, slot: number): void {
    const cut = new AbortController();
    const ended = this.#carryOut(lease, delivery, slot, cut.signal);
    this.#running.set(lease.token, { cut, ended });
  }

  async #runNextSecluded(stop: AbortSignal): Promise<void> {
    while (this.#running.size > 0 && !stop.aborted) await this.#change.promise;
    if (stop.aborted) return;
    const next = this.#secluded.shift();
    if (next) this.#start(next.lease, next.delivery, next.slot);
    while (this.#running.size > 0 && !stop.aborted) await this.#change.promise;
  }

  async #carryOut(lease: Lease, { receipt }: Delivery, slot: number, signal: AbortSignal): Promise<void> {
    const { queue, faults, heartbeat, onError } = this.#parts;
    try {
      const end: BatchEnd = await runBatch(this.#batchParts(), lease, signal);
      // A lost lease is somebody else's by now, and so is its message.
      if (end !== 'lost') {
        await faults.at('after-settle-before-ack');
        await queue.ack([receipt]);
        await faults.at('after-ack');
      }
    } catch (error) {
      onError(`batch ${lease.ref.batchId} of job ${lease.ref.jobId}`, error);
    } finally {
      heartbeat.drop(slot);
      this.#running.delete(lease.token);
      this.#freeSlots.push(slot);
      this.#tellChange();
    }
  }

  #remember(token: string): void {
    if (this.#taken.size >= MAX_KNOWN_LEASES) {
      this.#takenBefore = this.#taken;
      this.#taken = new Set();
    }
    this.#taken.add(token);
  }

  #tellChange(): void {
    this.#change.resolve();
    this.#change = Promise.withResolvers<void>();
  }

  #batchParts() {
    return {
      ...this.#parts,
      settler: this.#settler,
      isLost: (signal: AbortSignal) => signal.reason === LOST,
      latestOrder: (lease: Lease) => this.#orderFor(lease),
    };
  }

  /** Asked again when the lease knows of a newer one, or when the last answer is old. Null when the job is gone. */
  async #orderFor({ ref, jobCreatedAt, policyRevision }: Lease): Promise<WorkOrder | null> {
    const { leases, clock } = this.#parts;
    const known = this.#orders.get(ref.jobId);
    const isOfJob = known?.order.jobCreatedAt === jobCreatedAt && known.order.policyRevision >= policyRevision;
    if (isOfJob && clock.elapsed() - known.askedAt < ORDER_IS_GOOD_MS) return known.order;
    const order = await leases.workOrder(ref.jobId);
    if (this.#orders.size >= MAX_KNOWN_ORDERS) this.#orders.clear();
    if (order === null) this.#orders.delete(ref.jobId);
    else this.#orders.set(ref.jobId, { order, askedAt: clock.elapsed() });
    return order;
  }

  async #drain(): Promise<void> {
    const { clock, settings, leases, queue, heartbeat, onError } = this.#parts;
    for (const { lease, delivery, slot } of this.#secluded.splice(0)) {
      heartbeat.drop(slot);
      await leases
        .release(lease.token, 'drained', clock.now())
        .then(() => queue.ack([delivery.receipt]))
        .catch((error: unknown) => onError('drain', error));
    }
    const ended = new AbortController();
    const allEnded = this.#allEnded().then(() => ended.abort());
    await Promise.race([allEnded, clock.sleep(settings.drainGraceMs, ended.signal)]);
    for (const { cut } of this.#running.values()) cut.abort(STOPPED);
    await allEnded;
    await heartbeat.stop();
  }

  async #allEnded(): Promise<void> {
    await Promise.all([...this.#running.values()].map(({ ended }) => ended));
  }
}

const LOST = Symbol('the lease is lost');
const STOPPED = Symbol('the worker stops');

/** A claim is one step of the ledger, and whoever else wants something of it waits meanwhile. */
const MOST_AT_ONCE = 32;

/** A pause is heard of within this time by whoever works through a batch. */
const ORDER_IS_GOOD_MS = 5000;

/** A worker meets few jobs at a time; beyond this it asks again rather than grow. */
const MAX_KNOWN_ORDERS = 1000;

/** A second message comes within seconds of the first, or not at all. */
const MAX_KNOWN_LEASES = 50_000;

export interface WorkerSettings {
  readonly lane: Lane;
  /** Batches carried out at the same time. */
  readonly slots: number;
  readonly leaseMs: number;
  readonly drainGraceMs: number;
  /** Items of one batch are settled together when this has passed since the last time, and at its end. */
  readonly settleEveryMs: number;
}

export interface WorkerParts extends AttemptParts {
  /** Names this process and this life of it: a restarted worker has another one. */
  readonly id: string;
  readonly source: WorkSource;
  readonly queue: Pick<WorkerQueue, 'ack'>;
  readonly leases: WorkerLeases;
  readonly scrapers: ScraperRegistry;
  readonly heartbeat: Heartbeat;
  readonly clock: Clock;
  readonly settings: WorkerSettings;
  readonly onError: (where: string, error: unknown) => void;
}
