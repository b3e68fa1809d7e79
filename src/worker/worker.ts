import type { Lane } from '../domain/lane.ts';
import type { Clock } from '../ports/clock.ts';
import type { WorkerGate } from '../ports/host-gate.ts';
import type { WorkerRecordings } from '../ports/kept-recordings.ts';
import type { Lease, WorkerLeases } from '../ports/ledger.ts';
import { StorageTrouble } from '../ports/storage-trouble.ts';
import type { Delivery, WorkerQueue } from '../ports/work-queue.ts';
import type { Taken, WorkSource } from '../ports/work-source.ts';
import { RecordingScrapers } from '../scraping/recording-scrapers.ts';
import type { ScraperRegistry } from '../scraping/registry.ts';
import type { ScrapeTools } from '../scraping/scraper.ts';
import type { AttemptDeps } from './attempt.ts';
import { type BatchDeps, runBatch } from './batch.ts';
import { Deadlines } from './deadlines.ts';
import { FailureEvidence } from './failure-evidence.ts';
import type { Heartbeat } from './heartbeat.ts';
import { JobLadders } from './job-ladders.ts';
import { Orders } from './orders.ts';
import { OwnErrors } from './own-errors.ts';
import { ParkingGate, paceParked } from './parking-gate.ts';
import { Settler } from './settle.ts';
import { type Place, Slots } from './slots.ts';
import { tryControl } from './try-control.ts';
import { type RequestWatch, WatchedGate } from './watched-gate.ts';

/**
 * The loop of a worker: receive, claim, process, settle, acknowledge; as many batches at once as it has slots, which the
 * jobs share (`slots.ts`). It is
 *
 *   working    receives whenever a slot is free, from jobs that have less than their share
 *   secluded   a batch that must run alone waits or runs: nothing is received until everything else has ended, so that if
 *              the process dies, the guilty item is known
 *   draining   asked to stop: receives nothing, finishes what it has within a grace period, then releases the rest
 *              uncharged
 */
export class Worker {
  readonly #deps: WorkerDeps;
  readonly #ladders = new JobLadders();
  readonly #evidence = new FailureEvidence();
  readonly #ownErrors = new OwnErrors();
  readonly #batchDeps: BatchDeps;
  readonly #slots: Slots;
  readonly #running = new Map<string, { place: Place; cut: AbortController; ended: Promise<void> }>();
  readonly #secluded: { lease: Lease; delivery: Delivery; place: Place }[] = [];
  /** Leases that were begun here, including ended ones: a repeated claim must not begin one twice. */
  #taken = new Set<string>();
  #takenBefore: ReadonlySet<string> = new Set();
  readonly #orders: Orders;
  /** From then on, a lease is renewed until its release is answered, even if its batch has ended. */
  #isLettingGo = false;
  /** Resolves when a batch ends or the worker is asked to stop. */
  #change = Promise.withResolvers<void>();

  constructor(deps: WorkerDeps) {
    this.#deps = deps;
    const { leases, clock, tools, settings, onError } = deps;
    this.#orders = new Orders({ leases, clock, gate: tools.gate, goodMs: settings.orderGoodMs, onError });
    this.#batchDeps = this.#depsOfBatches();
    this.#slots = new Slots(deps.settings.slots);
    this.#slots.onMore(() => this.#tellChange());
    deps.heartbeat.onLost((token) => this.#running.get(token)?.cut.abort(LOST));
  }

  /** Works until `stop` aborts and its batches are finished or given back. Rejects if its queue or ledger is gone. */
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
      if (!this.#slots.hasRoom) {
        await this.#change.promise;
        continue;
      }
      await this.#beginAll(await this.#take(stop));
    }
  }

  /**
   * The queue or the ledger is gone. If it is only the queue, the ledger can still take the leases back; an expired
   * lease counts against its items. So each lease is kept alive until its release is answered, but no longer than a
   * lease lasts: a ledger that has not answered by then is gone as well.
   */
  async #letGo(): Promise<void> {
    const { clock, settings, heartbeat } = this.#deps;
    this.#isLettingGo = true;
    const held = [
      ...[...this.#running].map(([token, { place }]) => ({ token, place })),
      ...this.#secluded.splice(0).map(({ lease, place }) => ({ token: lease.token, place })),
    ];
    for (const { cut } of this.#running.values()) cut.abort(LOST);
    const answered = new AbortController();
    const released = Promise.all(held.map(({ token, place }) => this.#giveBack(token, place)));
    const late = clock.sleep(settings.leaseMs, answered.signal);
    await Promise.race([released, late]).finally(() => answered.abort(ANSWERED));
    await this.#allEnded();
    await heartbeat.stop();
  }

  /** Asks again if the first request was lost. */
  async #giveBack(token: string, place: Place): Promise<void> {
    const { clock, leases, heartbeat, onError } = this.#deps;
    const ask = () => leases.release(token, 'drained', clock.now());
    await ask()
      .catch(ask)
      .catch((error: unknown) => onError('release', error));
    heartbeat.drop(place.index);
  }

  async #take(stop: AbortSignal): Promise<readonly Taken[]> {
    const { source, settings, clock, onError } = this.#deps;
    try {
      return await source.take(settings.lane, this.#slots, settings.leaseMs, stop);
    } catch (error) {
      // A ledger without space cannot count a delivery. The messages come again when their time is over.
      if (!(error instanceof StorageTrouble)) throw error;
      onError('take', error);
      await clock.sleep(settings.leaseMs / 4, stop);
      return [];
    }
  }

  /** Runs even if the worker has been asked to stop by now: claimed batches are drained like all others. */
  async #beginAll(taken: readonly Taken[]): Promise<void> {
    const useless: string[] = [];
    for (const { delivery, answer } of taken) {
      if (answer === 'gone') useless.push(delivery.receipt);
      else if (typeof answer === 'object' && answer.control !== undefined) this.#beginControl(answer, delivery);
      else if (answer !== 'held' && !this.#knows(answer.token)) this.#begin(answer, delivery);
    }
    if (useless.length > 0) await this.#deps.queue.ack(useless);
  }

  /**
   * A message may come twice, and a repeated claim gets the same lease; the answer may even arrive after that batch has
   * ended.
   */
  #knows(token: string): boolean {
    return this.#taken.has(token) || this.#takenBefore.has(token);
  }

  #begin(lease: Lease, delivery: Delivery): void {
    const place = this.#slots.occupy(lease.ref.jobId);
    this.#remember(lease.token);
    this.#deps.heartbeat.hold(place.index, { token: lease.token, receipt: delivery.receipt });
    if (lease.alone) this.#secluded.push({ lease, delivery, place });
    else this.#start(lease, delivery, place);
  }

  #start(lease: Lease, delivery: Delivery, place: Place): void {
    const cut = new AbortController();
    const ended = this.#carryOut(lease, delivery, place, cut.signal);
    this.#running.set(lease.token, { place, cut, ended });
  }

  /** It has no lease that could be lost. A second message about a control being tried is left to come again. */
  #beginControl(lease: Lease, delivery: Delivery): void {
    const { batchId, jobId } = lease.ref;
    if (this.#running.has(batchId)) return;
    const place = this.#slots.occupy(jobId);
    const cut = new AbortController();
    const ended = this.#tryControl(lease, delivery, place, cut.signal);
    this.#running.set(batchId, { place, cut, ended });
  }

  /** Nothing is lost by an error: a control without a report is sent again. */
  async #tryControl(lease: Lease, { receipt }: Delivery, place: Place, signal: AbortSignal): Promise<void> {
    const { leases, queue, clock, onError } = this.#deps;
    const { batchId, jobId } = lease.ref;
    try {
      const report = await tryControl(this.#batchDeps, lease, place, signal);
      if (report !== null) await leases.reportControl(jobId, report, clock.now());
      await queue.ack([receipt]);
    } catch (error) {
      onError(`control ${batchId} of job ${jobId}`, error);
    } finally {
      this.#running.delete(batchId);
      place.leave();
    }
  }

  async #runNextSecluded(stop: AbortSignal): Promise<void> {
    while (this.#running.size > 0 && !stop.aborted) await this.#change.promise;
    if (stop.aborted) return;
    const next = this.#secluded.shift();
    if (next) this.#start(next.lease, next.delivery, next.place);
    while (this.#running.size > 0 && !stop.aborted) await this.#change.promise;
  }

  async #carryOut(lease: Lease, { receipt }: Delivery, place: Place, signal: AbortSignal): Promise<void> {
    const { queue, faults, heartbeat, onError } = this.#deps;
    try {
      const end = await runBatch(this.#batchDeps, lease, place, signal);
      // A lost lease belongs to another worker by now, and so does its message.
      if (end !== 'lost') {
        await faults.at('after-settle-before-ack');
        await queue.ack([receipt]);
        await faults.at('after-ack');
      }
    } catch (error) {
      onError(`batch ${lease.ref.batchId} of job ${lease.ref.jobId}`, error);
    } finally {
      if (!this.#isLettingGo) heartbeat.drop(place.index);
      this.#running.delete(lease.token);
      place.leave();
    }
  }

  #remember(token: string): void {
    if (this.#taken.size >= MAX_KNOWN_LEASES + this.#running.size) {
      this.#takenBefore = this.#taken;
      this.#taken = new Set(this.#running.keys());
    }
    this.#taken.add(token);
  }

  #tellChange(): void {
    this.#change.resolve();
    this.#change = Promise.withResolvers<void>();
  }

  #depsOfBatches(): BatchDeps {
    const { tools, clock, leases, recordings } = this.#deps;
    return {
      ...this.#deps,
      recorded: new RecordingScrapers({ recordings, clock }),
      ladders: this.#ladders,
      evidence: this.#evidence,
      deadlines: new Deadlines(clock),
      paceItem: (jobId, place, signal) => paceParked(tools.gate, jobId, this.#parking(jobId, place), signal),
      gateOf: (jobId, place) => {
        const gate = new ParkingGate(tools.gate, jobId, this.#parking(jobId, place));
        return new WatchedGate(gate, jobId, tools.watch, clock);
      },
      settler: new Settler(leases, clock),
      ownErrors: this.#ownErrors,
      isLost: (signal: AbortSignal) => signal.reason === LOST,
      latestOrder: (lease, begunAt) => this.#orders.orderFor(lease, begunAt),
    };
  }

  /** While the batch waits, its slot is free for others, and its job may get another policy. */
  #parking(jobId: string, place: Place): Pick<Place, 'park'> {
    return {
      park: () => {
        const goOn = place.park();
        const unwatch = this.#orders.watch(jobId);
        return () => {
          unwatch();
          goOn();
        };
      },
    };
  }

  async #drain(): Promise<void> {
    const { clock, settings, leases, queue, heartbeat, onError } = this.#deps;
    for (const { lease, delivery, place } of this.#secluded.splice(0)) {
      await leases
        .release(lease.token, 'drained', clock.now())
        .then(() => queue.ack([delivery.receipt]))
        .catch((error: unknown) => onError('drain', error));
      heartbeat.drop(place.index);
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

/** An abort without a reason creates an exception with a stack trace, which would not be read here. */
const ANSWERED = 'answered';

/**
 * A second answer about a batch may be on its way while the batch ends. More than a worker can end meanwhile; ten times
 * as many were 6 MB that every garbage collection had to walk through.
 */
const MAX_KNOWN_LEASES = 5000;

interface WorkerSettings {
  readonly lane: Lane;
  /** Concurrent batches of one job; all jobs together may have twice as many. */
  readonly slots: number;
  readonly leaseMs: number;
  readonly drainGraceMs: number;
  /** Items of one batch are settled together when this much time has passed since the last settle, and at its end. */
  readonly settleEveryMs: number;
  /** In the middle of a batch, a changed policy or a pause of the job is noticed within this time. */
  readonly orderGoodMs: number;
}

export interface WorkerDeps
  extends Omit<AttemptDeps, 'ladders' | 'evidence' | 'deadlines'>,
    Pick<BatchDeps, 'isStillHeld'> {
  /** Identifies this run of the process: a restarted worker has another id. */
  readonly id: string;
  readonly tools: ScrapeTools & { readonly gate: WorkerGate; readonly watch: RequestWatch };
  readonly source: WorkSource;
  readonly queue: Pick<WorkerQueue, 'ack'>;
  readonly leases: Omit<WorkerLeases, 'claim'>;
  readonly scrapers: ScraperRegistry;
  readonly recordings: WorkerRecordings;
  readonly heartbeat: Heartbeat;
  readonly clock: Clock;
  readonly settings: WorkerSettings;
  readonly onError: (where: string, error: unknown) => void;
}
