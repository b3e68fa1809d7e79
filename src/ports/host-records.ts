import type { Seen } from '../domain/compliance.ts';
import type { JobRecord } from '../domain/job.ts';

/**
 * What jobs did at hosts, merged from the observations of all processes (`domain/compliance.ts`). It is for people and
 * protects nothing: what a process saw in its last seconds is lost when it is killed.
 * This is the part that workers use.
 */
export interface WorkerHostRecords {
  /**
   * Adds what this process saw since its last report. Reports about a deleted job are ignored, and so are those about
   * further hosts of a job that has visited MAX_RECORDED_HOSTS.
   */
  report(reports: readonly SeenReport[]): Promise<void>;
}

export interface SeenReport {
  readonly jobId: string;
  readonly host: string;
  /** Observations of this job only. */
  readonly seen: Seen;
}

export interface HostRecords extends WorkerHostRecords {
  /** Sorted by host. Reports are kept with the job, and deleted with it. */
  ofJob(job: Pick<JobRecord, 'jobId' | 'incarnation'>): Promise<readonly HostRecord[]>;
}

export type HostRecord = Omit<SeenReport, 'jobId'>;

/** For a job that visits more hosts, only the first ones are recorded. */
export const MAX_RECORDED_HOSTS = 200;
