import type { JobRecord } from '../../domain/job.ts';

/** Whether a job read its pages from this one, rather than from another that had its id before. */
export function readsFrom(
  { extracts, sourceCreatedAt }: Pick<JobRecord, 'extracts' | 'sourceCreatedAt'>,
  source: Pick<JobRecord, 'jobId' | 'createdAt'>,
): boolean {
  return extracts === source.jobId && (sourceCreatedAt ?? source.createdAt) === source.createdAt;
}
