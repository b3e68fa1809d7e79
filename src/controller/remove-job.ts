import { type Digest, jobPrefix } from '../domain/artifact.ts';
import { inFlightOf } from '../domain/counts.ts';
import type { JobRecord } from '../domain/job.ts';
import type { Clock } from '../ports/clock.ts';
import type { Ledger } from '../ports/ledger.ts';
import type { ResultStore } from '../ports/result-store.ts';
import { mayRemove } from './extraction/replace-results.ts';

export type RemoveAnswer =
  | { readonly kind: 'removed' }
  | { readonly kind: 'missing' }
  | { readonly kind: 'refused'; readonly because: string };

export interface RemoveParts {
  readonly ledger: Ledger;
  readonly store: ResultStore;
  readonly clock: Clock;
  readonly digest: Digest;
  readonly onError: (where: string, error: unknown) => void;
}

/**
 * Deletes a job and its results. The results go first: if the process dies in between, the job is still there to be
 * deleted again, and no other job of that id can meet files of this one.
 */
export async function removeJob(parts: RemoveParts, jobId: string): Promise<RemoveAnswer> {
  const { ledger, store, digest } = parts;
  const job = await whileStill(parts, jobId);
  if (job === null) return { kind: 'missing' };
  if (job.status === 'in_progress' || inFlightOf(job.counts) > 0) {
    return { kind: 'refused', because: stillAtIt(job) };
  }
  const guarded = await mayRemove(job, ledger);
  if (guarded !== null) return { kind: 'refused', because: guarded };
  const prefix = jobPrefix(jobId, digest);
  await unlessLong(parts, store.removeAll(prefix));
  await ledger.removeJob(jobId);
  // What somebody was about to write while it was still there.
  await unlessLong(parts, store.removeAll(prefix));
  return { kind: 'removed' };
}

function stillAtIt({ status }: JobRecord): string {
  if (status === 'in_progress') return 'the job is in progress: cancel it first, or pause it';
  return `the job is ${status}, and workers are still at its last items: try again in a moment`;
}

/** A million files take minutes, for which nobody waits: from some time on they are removed behind our back. */
async function unlessLong({ clock, onError }: RemoveParts, removal: Promise<number>): Promise<void> {
  const done = new AbortController();
  const removed = removal.then(() => 'removed' as const).finally(() => done.abort());
  const first = await Promise.race([removed, clock.sleep(PATIENCE_MS, done.signal)]);
  if (first !== 'removed') removed.catch((error: unknown) => onError('removal of results', error));
}

const PATIENCE_MS = 2000;

/** A job that is about to begin is paused, so that it does not begin under our hands. */
async function whileStill(
  { ledger, clock }: { readonly ledger: Ledger; readonly clock: Clock },
  jobId: string,
): Promise<JobRecord | null> {
  const job = await ledger.job(jobId);
  if (job?.status !== 'pending') return job;
  const reason = { code: 'user', message: 'it is being deleted', evidence: [] } as const;
  const answer = await ledger.changeJob(jobId, { kind: 'pause', reason }, clock.now());
  return answer === 'missing' || 'refused' in answer ? ledger.job(jobId) : answer;
}
