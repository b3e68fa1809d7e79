import type { Refusal } from './refusal.ts';

/**
 * How a job is removed. It is marked (`asked`) while it may still be kept because another job needs it; then its
 * removal is certain and its results are deleted; then the ledger forgets it. Each event names its incarnation: a late
 * one must not affect the next job with that id.
 */
export type RemovalEvent =
  /** It is to be deleted, if it is the intended job. Workers must have let go of it. */
  | { readonly kind: 'remove'; readonly incarnation: string }
  /** No other job needs it: from now on its results may be deleted. */
  | { readonly kind: 'remove-for-good'; readonly incarnation: string }
  /** Another job needs it after all: it is not deleted. Refused once its results may be gone. */
  | { readonly kind: 'keep'; readonly incarnation: string };

export const BEING_DELETED: Refusal = { refused: 'the job is being deleted' };

/** The job to be deleted is gone, and the next one with its id must not be deleted instead. */
export const OTHER_INCARNATION: Refusal = {
  refused: 'the job is gone, and another has its id',
  code: 'other_incarnation',
};

const NOT_BEING_DELETED: Refusal = { refused: 'the job is not being deleted' };

export function isRemoval(event: { readonly kind: string }): event is RemovalEvent {
  return event.kind === 'remove' || event.kind === 'remove-for-good' || event.kind === 'keep';
}

/** The fields of a job that matter here. */
interface Removable {
  readonly incarnation: string;
  readonly status: string;
  readonly itemsInFlight: number;
  readonly removing?: 'asked' | true;
}

export function applyRemoval<Job extends Removable>(job: Job, event: RemovalEvent): Job | Refusal {
  if (event.incarnation !== job.incarnation) return OTHER_INCARNATION;
  const { removing, ...rest } = job;
  switch (event.kind) {
    case 'remove':
      if (removing) return job;
      if (job.status === 'in_progress' || job.itemsInFlight > 0) return { refused: stillAtIt(job) };
      return { ...job, removing: 'asked' };
    case 'remove-for-good':
      if (removing === undefined) return NOT_BEING_DELETED;
      return removing === true ? job : { ...job, removing: true };
    case 'keep':
      if (removing === undefined) return job;
      return removing === true ? BEING_DELETED : (rest as Job);
  }
}

function stillAtIt({ status }: Removable): string {
  if (status === 'in_progress') return 'the job is in progress: cancel it first, or pause it';
  return `the job is ${status}, and workers are still processing its last items: try again in a moment`;
}
