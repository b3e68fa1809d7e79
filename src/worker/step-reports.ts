import { describeDrift, findDrift } from '../domain/recording/drift.ts';
import { stepKey } from '../domain/recording/step-failures.ts';
import { addSeen, type JobSteps, mergeSteps, NO_STEPS, type SeenStep } from '../domain/recording/step-statistics.ts';
import type { Clock } from '../ports/clock.ts';
import type { WorkerStepRecords } from '../ports/step-records.ts';
import type { ScrapeLog } from '../scraping/scraper.ts';

interface StepReportsDeps {
  readonly records: WorkerStepRecords;
  readonly log: Pick<ScrapeLog, 'warn'>;
  readonly clock: Clock;
  readonly everyMs: number;
  readonly onError: (where: string, error: unknown) => void;
}

/** More jobs than a process works on at once. */
const MAX_JOBS = 200;

interface JobSeen {
  /** Since the last report. */
  unsent: JobSteps;
  /** All that this process saw, for its log. */
  all: JobSteps;
  /** Steps whose drift is in the log. */
  readonly logged: Set<string>;
}

/**
 * What this process sees of the steps of recordings. It is added up here and reported every few seconds, however many
 * items there were: so it costs nothing per item. Failed reports are repeated next time.
 */
export class StepReports {
  readonly #deps: StepReportsDeps;
  readonly #jobs = new Map<string, JobSeen>();
  #isFailing = false;

  constructor(deps: StepReportsDeps) {
    this.#deps = deps;
  }

  note(jobId: string, seen: readonly SeenStep[], now: number): void {
    const job = this.#jobs.get(jobId) ?? { unsent: NO_STEPS, all: NO_STEPS, logged: new Set() };
    job.unsent = addSeen(job.unsent, seen, now);
    // Jobs that are worked on now come last, and are not forgotten.
    this.#jobs.delete(jobId);
    this.#jobs.set(jobId, job);
    const [oldest] = this.#jobs.keys();
    if (this.#jobs.size > MAX_JOBS && oldest !== undefined) this.#jobs.delete(oldest);
  }

  /** Runs until `stop` aborts. */
  async run(stop: AbortSignal): Promise<void> {
    const { clock, everyMs } = this.#deps;
    while (!stop.aborted) {
      await clock.sleep(everyMs, stop);
      await this.runOnce();
    }
  }

  async runOnce(): Promise<void> {
    const { records, onError } = this.#deps;
    const sent = [...this.#jobs].flatMap(([jobId, { unsent }]) =>
      unsent.length === 0 ? [] : { jobId, steps: unsent },
    );
    if (sent.length === 0) return;
    for (const { jobId } of sent) this.#take(jobId);
    try {
      await records.report(sent);
      this.#isFailing = false;
    } catch (error) {
      for (const { jobId, steps } of sent) {
        const job = this.#jobs.get(jobId);
        if (job !== undefined) job.unsent = mergeSteps(steps, job.unsent);
      }
      // Reported once, however long it lasts.
      if (!this.#isFailing) onError('records of steps', error);
      this.#isFailing = true;
    }
  }

  #take(jobId: string): void {
    const job = this.#jobs.get(jobId);
    if (job === undefined) return;
    job.all = mergeSteps(job.all, job.unsent);
    job.unsent = NO_STEPS;
    for (const drift of findDrift(job.all)) {
      const key = stepKey(drift.step);
      if (job.logged.has(key)) continue;
      job.logged.add(key);
      this.#deps.log.warn({ job_id: jobId, step: drift.step.path, drift: describeDrift(drift) }, 'selector drift');
    }
  }
}
