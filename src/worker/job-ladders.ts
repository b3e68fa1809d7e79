import type { Failure } from '../domain/failure.ts';
import { afterItem, FIRST_STEP, type JobLadder } from '../domain/proxy-ladder.ts';
import { PROXY_TYPES, type ProxyType, proxyLadder } from '../domain/proxy-policy.ts';
import type { WorkOrder } from '../domain/work-order.ts';
import type { ScrapeLog, ScrapeResult } from '../scraping/scraper.ts';

/** Another job with its id, or another policy, starts over. */
interface LadderJob {
  readonly jobId: string;
  readonly order: Pick<WorkOrder, 'policy' | 'policyRevision' | 'jobCreatedAt'>;
}

/** More jobs than a process works on, so that only finished ones are forgotten. */
const MAX_JOBS = 1000;

/** The step of their proxy ladders at which this process starts the items of its jobs. */
export class JobLadders {
  readonly #byJob = new Map<string, JobLadder>();

  /** For one attempt at an item. */
  begin({ jobId, order }: LadderJob, log: Pick<ScrapeLog, 'info'>): Climb {
    const { proxy } = order.policy;
    if (proxy.escalate.length === 0) return FLAT[proxy.type];
    const steps = proxyLadder(proxy);
    if (steps.length === 1) return FLAT[proxy.type];
    const key = `${jobId} ${order.jobCreatedAt} ${order.policyRevision}`;
    const start = Math.min(this.#byJob.get(key)?.step ?? 0, steps.length - 1);
    return new Climb(steps, start, (endedAt) => {
      const before = this.#byJob.get(key) ?? FIRST_STEP;
      const after = afterItem(before, { startedAt: start, endedAt }, steps.length);
      this.#remember(key, after);
      if (after.step === before.step) return;
      log.info(
        { job_id: jobId, proxy_type: steps[after.step] },
        'most items were blocked; new ones start with this proxy',
      );
    });
  }

  #remember(key: string, ladder: JobLadder): void {
    this.#byJob.delete(key);
    this.#byJob.set(key, ladder);
    const [oldest] = this.#byJob.keys();
    if (this.#byJob.size > MAX_JOBS && oldest !== undefined) this.#byJob.delete(oldest);
  }
}

/** One item on its ladder: it climbs a step whenever the site blocks it. */
export class Climb {
  readonly #steps: readonly ProxyType[];
  readonly #onEnd: (step: number) => void;
  #step: number;

  constructor(steps: readonly ProxyType[], start: number, onEnd: (step: number) => void) {
    this.#steps = steps;
    this.#step = start;
    this.#onEnd = onEnd;
  }

  get proxyType(): ProxyType {
    return this.#steps[this.#step] ?? 'none';
  }

  /** There will be another try. */
  failed({ type }: Failure): void {
    if (type === 'blocked' && this.#step + 1 < this.#steps.length) this.#step += 1;
  }

  /** An item that was blocked until its end would have needed another step. */
  ended(result: ScrapeResult | 'aborted'): void {
    if (result === 'aborted') return;
    this.#onEnd(this.#step + (result.kind === 'failed' && result.failure.type === 'blocked' ? 1 : 0));
  }
}

/** Ladders with a single step, on which nothing moves: shared by all items. */
const FLAT = Object.fromEntries(
  PROXY_TYPES.map((type) => [type, new Climb([type], 0, () => {})]),
) as unknown as Readonly<Record<ProxyType, Climb>>;
