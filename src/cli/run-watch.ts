import { finishedOf } from '../domain/counts.ts';
import { isActive, type JobRecord } from '../domain/job.ts';
import type { OpenController } from '../main/controller.ts';
import { printable } from './format.ts';
import { type Progress, RateWindow } from './progress.ts';

/** Follows one job by the events of its engine: how it stands, and when it is over. */
export class JobWatch {
  readonly #controller: OpenController;
  readonly #jobId: string;
  #rate = new RateWindow();
  readonly #failures = new Map<string, number>();
  readonly #listeners = new Set<() => void>();
  readonly #unsubscribe: () => void;
  #last: JobRecord;
  #note: string | null = null;

  constructor(controller: OpenController, job: JobRecord) {
    this.#controller = controller;
    this.#jobId = job.jobId;
    this.#last = job;
    this.#unsubscribe = controller.watch((event) => {
      if (event.kind === 'settled' && event.jobId === this.#jobId) {
        for (const { errorType } of event.items) if (errorType !== null) this.#countFailure(errorType);
      }
      for (const listener of this.#listeners) listener();
    });
  }

  onChange(listener: () => void): void {
    this.#listeners.add(listener);
  }

  /** What is shown in the place of the rate; null for nothing. */
  say(note: string | null): void {
    this.#note = note;
    // What was done before tells nothing of the pace from here on.
    this.#rate = new RateWindow();
  }

  async progress(): Promise<Progress> {
    this.#last = (await this.#controller.findJob(this.#jobId)) ?? this.#last;
    const { counts, status, reason } = this.#last;
    this.#rate.add(this.#controller.clock.elapsed(), finishedOf(counts));
    const paused = status === 'paused' ? `paused: ${printable(reason?.message ?? '', 80)}` : null;
    return {
      counts,
      failures: this.#failures,
      perSecond: this.#rate.perSecond(),
      note: this.#note ?? paused,
    };
  }

  /**
   * Resolves when the engine has nothing more to do for the job, or `signal` aborts. A job that is paused because the
   * disk is full goes on by itself, so that is waited for.
   */
  async untilOver(signal: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const look = async () => {
      const job = await this.#controller.findJob(this.#jobId);
      if (job === null || (!isActive(job) && job.reason?.code !== 'storage')) resolve();
    };
    const unsubscribe = this.#controller.watch((event) => {
      if (event.kind === 'job' || event.kind === 'manifest-written') look().catch(reject);
    });
    signal.addEventListener('abort', () => resolve(), { once: true });
    try {
      if (signal.aborted) return;
      await look();
      await promise;
    } finally {
      unsubscribe();
    }
  }

  close(): void {
    this.#unsubscribe();
  }

  #countFailure(type: string): void {
    this.#failures.set(type, (this.#failures.get(type) ?? 0) + 1);
  }
}
