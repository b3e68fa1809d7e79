import type { JobStatus } from './job-steps.ts';

/** Every item is final, and the index is being written: the job is completed with it. */
export function isFinishing({
  status,
  finishedAt,
}: {
  readonly status: JobStatus;
  readonly finishedAt: number | null;
}): boolean {
  return (status === 'in_progress' || status === 'paused') && finishedAt !== null;
}

/** What index there is, or is being written, is void: the next one is of another round. */
export function newRound({ round }: { readonly round: number }): { readonly round: number; readonly manifest: null } {
  return { round: round + 1, manifest: null };
}
