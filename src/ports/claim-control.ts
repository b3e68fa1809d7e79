import type { JobRecord } from '../domain/job.ts';
import { controlBatchId } from '../domain/job-controls.ts';
import type { Lease } from './ledger.ts';
import type { BatchRef } from './work-queue.ts';

/**
 * The answer to a claim of a control item; `gone` unless its report is still awaited. No lease is taken and nothing can
 * be lost: if two workers try it, the first report counts. Its input is found in the policy by its number
 * (`controlItem`).
 */
export function claimControl(job: JobRecord | undefined, ref: BatchRef, until: number): Lease | 'gone' {
  const control = job?.controls?.out?.number;
  if (job === undefined || control === undefined || ref.batchId !== controlBatchId(job)) return 'gone';
  const { createdAt: jobCreatedAt, policyRevision } = job;
  const token = ref.batchId;
  return { token, ref, until, suspect: false, alone: false, jobCreatedAt, policyRevision, items: [], control };
}
