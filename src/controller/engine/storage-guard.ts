import type { JobRecord } from '../../domain/job.ts';
import { walkPages } from '../../domain/walk-pages.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Ledger } from '../../ports/ledger.ts';
import { StorageTrouble } from '../../ports/storage-trouble.ts';
import type { EventStream } from './events.ts';

/**
 * What the engine does when the disk is full or fails. It is in one of two modes:
 *
 *   well      everything runs
 *   trouble   nothing is dispatched or reaped; running jobs are paused with the reason, as far as that can still be
 *             written; every second a small durable write is tried, and when one succeeds, the jobs that were paused for
 *             this resume
 *
 * No attempt is charged, and nothing that was acknowledged is touched.
 */
export class StorageGuard {
  readonly #deps: StorageGuardDeps;
  #trouble: string | null = null;

  constructor(deps: StorageGuardDeps) {
    this.#deps = deps;
  }

  isWell(): boolean {
    return this.#trouble === null;
  }

  /** What is wrong; null if everything works. */
  get problem(): string | null {
    return this.#trouble;
  }

  /** True if the error is about storage and has been handled. */
  report(error: unknown): boolean {
    if (!(error instanceof StorageTrouble)) return false;
    this.reportMessage(error.message);
    return true;
  }

  reportMessage(message: string): void {
    if (this.#trouble !== null) return;
    this.#trouble = message;
    this.#deps.events.publish({ kind: 'storage-trouble', message });
    this.#deps.onTrouble();
  }

  /** Called on start, on trouble, and every second while there is trouble. Returns whether everything works. */
  async runOnce(): Promise<boolean> {
    if (this.#trouble !== null) await this.#deps.makeRoom();
    const isWell = await this.#probe();
    if (this.#trouble !== null && this.#deps.isLeading()) await this.#pauseRunningJobs(this.#trouble);
    if (!isWell) return false;
    // The trouble is over only when the jobs that were paused for it have resumed: nothing else would resume them.
    if (!(await this.#resumePausedJobs())) return false;
    const wasTroubled = this.#trouble !== null;
    this.#trouble = null;
    if (wasTroubled) {
      this.#deps.events.publish({ kind: 'storage-recovered' });
      this.#deps.onRecovery();
    }
    return true;
  }

  async #probe(): Promise<boolean> {
    try {
      await this.#deps.probe();
      return true;
    } catch (error) {
      // What the probe encounters says more than a worker's report that something failed, and becomes the reason of the
      // pause.
      if (this.#trouble !== null && error instanceof StorageTrouble) this.#trouble = error.message;
      if (this.report(error) || this.#trouble !== null) return false;
      throw error;
    }
  }

  async #pauseRunningJobs(message: string): Promise<void> {
    const reason = { code: 'storage', message, evidence: [] } as const;
    await this.#forEachJob('in_progress', async ({ jobId }) => {
      await this.#deps.ledger.changeJob(jobId, { kind: 'pause', reason }, this.#deps.clock.now());
    });
  }

  #resumePausedJobs(): Promise<boolean> {
    return this.#forEachJob('paused', async ({ jobId, reason }) => {
      if (reason?.code !== 'storage') return;
      const event = { kind: 'resume', ifPausedFor: 'storage' } as const;
      await this.#deps.ledger.changeJob(jobId, event, this.#deps.clock.now());
    });
  }

  /** A write that fails for lack of space is left to the next round; then the result is false. */
  async #forEachJob(status: 'in_progress' | 'paused', act: (job: JobRecord) => Promise<void>): Promise<boolean> {
    const read = (after: string | null) => this.#deps.ledger.jobs({ status, page: { after, limit: 100 } });
    for await (const page of walkPages(read)) {
      for (const job of page.entries) {
        try {
          await act(job);
        } catch (error) {
          if (!this.report(error)) throw error;
          return false;
        }
      }
    }
    return true;
  }
}

interface StorageGuardDeps {
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly events: EventStream;
  /** Only a leader pauses jobs: if it dies before resuming them, the next leader does. */
  readonly isLeading: () => boolean;
  /** Releases the reserve kept for this: without any space not even a pause can be written. */
  readonly makeRoom: () => Promise<void>;
  /** A small durable write to each storage; throws StorageTrouble while there is no room. */
  readonly probe: () => Promise<void>;
  readonly onTrouble: () => void;
  readonly onRecovery: () => void;
}
