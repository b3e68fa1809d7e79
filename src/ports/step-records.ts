import type { JobRecord } from '../domain/job.ts';
import type { JobSteps } from '../domain/recording/step-statistics.ts';

/**
 * What was seen of the steps of recordings, added up over all processes (`domain/recording/step-statistics.ts`). It is
 * for people and decides nothing: what a process saw in its last seconds is lost when it is killed.
 * This is the part that workers use.
 */
export interface WorkerStepRecords {
  /** Adds what this process saw since its last report. Reports about a deleted job are ignored. */
  report(reports: readonly StepsReport[]): Promise<void>;
}

export interface StepsReport {
  readonly jobId: string;
  readonly steps: JobSteps;
}

export interface StepRecords extends WorkerStepRecords {
  /** Empty for a job without a recording. Reports are kept with the job, and deleted with it. */
  ofJob(job: Pick<JobRecord, 'jobId' | 'incarnation'>): Promise<JobSteps>;
}
