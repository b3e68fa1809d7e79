import { type JobLimits, jobLimits } from '../domain/job-limits.ts';
import type { WorkOrder } from '../domain/work-order.ts';
import type { Clock } from '../ports/clock.ts';
import type { Lease, WorkerLeases } from '../ports/ledger.ts';

export interface OrdersDeps {
  readonly leases: Pick<WorkerLeases, 'workOrder'>;
  readonly clock: Clock;
  /** The host gate, which keeps the pace of jobs. */
  readonly gate: { setJobLimits(jobId: string, limits: JobLimits): void };
  /** A change of a job is noticed within this time. */
  readonly goodMs: number;
  readonly onError: (where: string, error: unknown) => void;
}

/**
 * What jobs want, as this worker knows it. It asks when an item begins and the last answer is old, and while items wait at
 * the gate: at a slow pace none may begin for minutes, and a new policy must not wait for that.
 */
export class Orders {
  readonly #deps: OrdersDeps;
  readonly #known = new Map<string, { readonly order: WorkOrder; readonly askedAt: number }>();
  readonly #watched = new Map<string, { waiting: number; readonly off: AbortController }>();

  constructor(deps: OrdersDeps) {
    this.#deps = deps;
  }

  /**
   * Asked again when the lease knows of a newer one, or when the last answer is old. Null when the job is gone. `begunAt` is when
   * work on the lease began, by the steady clock: a job of which a batch was claimed goes on, so an earlier answer that it is
   * halted is outdated. To heed it would give the batch back, and it would come again at once, for as long as the answer is fresh.
   */
  orderFor({ ref, jobCreatedAt, policyRevision }: Lease, begunAt: number): Promise<WorkOrder | null> | WorkOrder {
    const known = this.#known.get(ref.jobId);
    const isOfJob = known?.order.jobCreatedAt === jobCreatedAt && known.order.policyRevision >= policyRevision;
    const isOutdated = known?.order.isHalted === true && known.askedAt <= begunAt;
    return isOfJob && !isOutdated && this.#isFresh(known.askedAt) ? known.order : this.#ask(ref.jobId);
  }

  /** An item of the job waits to go on; until the answer is called, the order is kept up to date. */
  watch(jobId: string): () => void {
    const watched = this.#watched.get(jobId) ?? { waiting: 0, off: new AbortController() };
    watched.waiting += 1;
    if (watched.waiting === 1) {
      this.#watched.set(jobId, watched);
      void this.#keepFresh(jobId, watched.off.signal);
    }
    return () => {
      watched.waiting -= 1;
      if (watched.waiting > 0) return;
      this.#watched.delete(jobId);
      watched.off.abort(NONE_WAITS);
    };
  }

  async #keepFresh(jobId: string, off: AbortSignal): Promise<void> {
    const { clock, goodMs, onError } = this.#deps;
    for (;;) {
      await clock.sleep(goodMs, off);
      if (off.aborted) return;
      const known = this.#known.get(jobId);
      if (known !== undefined && this.#isFresh(known.askedAt)) continue;
      // The item that waits meets the same trouble when it goes on.
      await this.#ask(jobId).catch((error: unknown) => onError(`order of job ${jobId}`, error));
    }
  }

  #isFresh(askedAt: number): boolean {
    return this.#deps.clock.elapsed() - askedAt < this.#deps.goodMs;
  }

  async #ask(jobId: string): Promise<WorkOrder | null> {
    const { leases, clock, gate } = this.#deps;
    const order = await leases.workOrder(jobId);
    if (this.#known.size >= MAX_KNOWN_ORDERS) this.#known.clear();
    if (order === null) this.#known.delete(jobId);
    else {
      this.#known.set(jobId, { order, askedAt: clock.elapsed() });
      gate.setJobLimits(jobId, jobLimits(order.policy));
    }
    return order;
  }
}

/** An abort without a reason makes an exception with a stack trace, which is not read here. */
const NONE_WAITS = 'no item waits';

/** A worker meets few jobs at a time; beyond this it asks again rather than grow. */
const MAX_KNOWN_ORDERS = 1000;
