import type { Refusal } from './refusal.ts';

/**
 * How a job goes. It is marked (`asked`) while it may still be kept because another job needs it; then for good, and its
 * results go; then the ledger forgets it. Each event names the incarnation it means: one that comes late must not meet the
 * next job of that id.
 */
export type RemovalEvent =
  /** It is to be deleted, if it is the job that was meant. Workers must have let go of it. */
  | { readonly kind: 'remove'; readonly incarnation: string }
  /** No other job needs it: from now on its results may go. */
  | { readonly kind: 'remove-for-good'; readonly incarnation: string }
  /** Another job needs it after all: it is not deleted. Refused once its results may be gone. */
  | { readonly kind: 'keep'; readonly incarnation: string };

export const BEING_DELETED: Refusal = { refused: 'the job is being deleted' };

/** The job that was to be deleted is gone, and must not take the next one of its id with it. */
export const OTHER_INCARNATION: Refusal = {
  refused: 'the job is gone, and another has its id',
  code: 'other_incarnation',
};

const NOT_BEING_DELETED: Refusal = { refused: 'the job is not being deleted' };

export function isRemoval(event: { readonly kind: string }): event is RemovalEvent {
  return event.kind === 'remove' || event.kind === 'remove-for-good' || event.kind === 'keep';
}

/** What of a job matters here. */
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
  return `the job is ${status}, and workers are still at its last items: try again in a moment`;
}
