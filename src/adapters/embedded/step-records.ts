import type { JobRecord } from '../../domain/job.ts';
import { type JobSteps, mergeSteps, NO_STEPS } from '../../domain/recording/step-statistics.ts';
import { stepsFromText, stepsToText } from '../../domain/recording/steps-text.ts';
import type { StepRecords, StepsReport } from '../../ports/step-records.ts';
import type { Committer } from './ledger/committer.ts';
import type { Tables } from './ledger/tables.ts';

/** A row per job, next to its other rows. Writes do not wait for the disk: it decides nothing. */
export class EmbeddedStepRecords implements StepRecords {
  readonly #tables: Tables;
  readonly #committer: Committer;

  constructor(tables: Tables, committer: Committer) {
    this.#tables = tables;
    this.#committer = committer;
  }

  async report(reports: readonly StepsReport[]): Promise<void> {
    await this.#committer.applied(() => {
      for (const { jobId, steps } of reports) {
        const entry = this.#tables.jobs.get(jobId);
        if (entry === null) continue;
        const merged = mergeSteps(this.#read(entry.num), steps);
        this.#tables.sql.setStepSeen.run(entry.num, stepsToText(merged));
      }
    });
  }

  ofJob({ jobId, incarnation }: Pick<JobRecord, 'jobId' | 'incarnation'>): Promise<JobSteps> {
    return this.#committer.read(() => {
      const entry = this.#tables.jobs.get(jobId);
      return entry?.record.incarnation === incarnation ? this.#read(entry.num) : NO_STEPS;
    });
  }

  #read(jobNum: number): JobSteps {
    const row = this.#tables.sql.stepSeen.get(jobNum);
    return row === undefined ? NO_STEPS : (stepsFromText(String(row['seen'])) ?? NO_STEPS);
  }
}
