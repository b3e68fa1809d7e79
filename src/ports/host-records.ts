import type { Seen } from '../domain/compliance.ts';
import type { JobRecord } from '../domain/job.ts';

/**
 * What jobs did at hosts, merged from what all processes saw (`domain/compliance.ts`). It is for people and guards
 * nothing: what a process saw in its last seconds is lost when it is killed.
 *
 * This is the part that workers use.
 */
export interface WorkerHostRecords {
  /**
   * Adds what this process saw since its last report. Reports of a job that is gone are ignored, and so are those of
   * further hosts of a job that has visited MAX_RECORDED_HOSTS.
   */
  report(reports: readonly SeenReport[]): Promise<void>;
}

export interface SeenReport {
  readonly jobId: string;
  readonly host: string;
  /** Of this job only. */
  readonly seen: Seen;
}

export interface HostRecords extends WorkerHostRecords {
  /** By host. What is reported stays with the job, and is gone with it. */
  ofJob(job: Pick<JobRecord, 'jobId' | 'incarnation'>): Promise<readonly HostRecord[]>;
}

export type HostRecord = Omit<SeenReport, 'jobId'>;

/** Of a job that visits more hosts, those that it visited first are recorded. */
export const MAX_RECORDED_HOSTS = 200;
