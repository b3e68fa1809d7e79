import type { JobStatus } from './job-steps.ts';

/** Whether every item is final and the index is being written, with which the job is completed. */
export function isFinishing({
  status,
  finishedAt,
}: {
  readonly status: JobStatus;
  readonly finishedAt: number | null;
}): boolean {
  return (status === 'in_progress' || status === 'paused') && finishedAt !== null;
}

/** An existing index, or one being written, becomes void: the next one belongs to another round. */
export function newRound({ round }: { readonly round: number }): { readonly round: number; readonly manifest: null } {
  return { round: round + 1, manifest: null };
}
