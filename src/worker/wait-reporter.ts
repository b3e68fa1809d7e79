import { type ItemWait, MAX_WAITS } from '../domain/item-wait.ts';
import type { Clock } from '../ports/clock.ts';
import type { WorkerItemWaits } from '../ports/item-waits.ts';

interface WaitReporterDeps {
  readonly waits: WorkerItemWaits;
  /** The name of this process. */
  readonly worker: string;
  readonly clock: Clock;
}

/** Shorter waits are over before anyone could read about them. */
const LEAST_MS = 1000;

const REPORT_EVERY_MS = 1000;

/**
 * Reports to the controller which items wait for another try: at most once a second, the waits that began in that
 * second, combined. So a thousand items that meet a busy site are one short message, and a worker without failures
 * sends nothing.
 */
export class WaitReporter {
  readonly #deps: WaitReporterDeps;
  #begun = new Map<string, ItemWait>();
  #isReporting = false;

  constructor(deps: WaitReporterDeps) {
    this.#deps = deps;
  }

  note(jobId: string, type: ItemWait['type'], waitMs: number): void {
    if (waitMs < LEAST_MS) return;
    // In whole seconds, so that items that wait together are one entry.
    const until = Math.ceil((this.#deps.clock.now() + waitMs) / 1000) * 1000;
    const key = `${until} ${type} ${jobId}`;
    const known = this.#begun.get(key);
    if (known === undefined && this.#begun.size >= MAX_WAITS) return;
    this.#begun.set(key, { jobId, type, until, items: (known?.items ?? 0) + 1 });
    if (!this.#isReporting) void this.#reportSoon();
  }

  async #reportSoon(): Promise<void> {
    const { waits, worker, clock } = this.#deps;
    this.#isReporting = true;
    await clock.sleep(REPORT_EVERY_MS);
    this.#isReporting = false;
    const now = clock.now();
    const current = [...this.#begun.values()].filter(({ until }) => until > now);
    this.#begun = new Map();
    // A missing controller is noticed where it is needed.
    if (current.length > 0) await waits.add(current, worker, now).catch(() => {});
  }
}
