import type { JobRecord } from '../domain/job.ts';
import { controlBatchId } from '../domain/job-controls.ts';
import type { Lease } from './ledger.ts';
import type { BatchRef } from './work-queue.ts';

/** The answer to a claim of a control item; `gone` unless its report is still awaited. */
export function claimControl(job: JobRecord | undefined, ref: BatchRef, until: number): Lease | 'gone' {
  const control = job?.controls?.out?.number;
  if (job === undefined || control === undefined || ref.batchId !== controlBatchId(job)) return 'gone';
  const { createdAt: jobCreatedAt, policyRevision } = job;
  const token = ref.batchId;
  return { token, ref, until, suspect: false, alone: false, jobCreatedAt, policyRevision, items: [], control };
}
