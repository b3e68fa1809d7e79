import type { HeldBack } from '../domain/job-wait.ts';
import { describeOwnError } from '../domain/own-error.ts';
import { NO_USAGE, type Usage } from '../domain/usage.ts';
import type { Lease, WorkerLeases } from '../ports/ledger.ts';
import type { ReleaseCause } from '../ports/return-cause.ts';
import { StorageTrouble } from '../ports/storage-trouble.ts';
import { type DoneItems, type DoneItemsDeps, isHopeless, type OwnTrouble } from './done-items.ts';

/** `over`: the ledger knows how every item ended, or has the rest back. `lost`: the lease is no longer ours. */
export type BatchEnd = 'over' | 'lost';

export interface BatchEndDeps extends DoneItemsDeps {
  readonly leases: Omit<WorkerLeases, 'claim'>;
}

/**
 * Settles finished items and gives the rest back: after a pause, if the cause is an error of our own. `usage` is that
 * of the attempt that did not end.
 */
export async function giveBack(
  deps: BatchEndDeps,
  lease: Lease,
  done: DoneItems,
  why: 'drained' | 'storage' | HeldBack | OwnTrouble,
  signal: AbortSignal,
  usage: Usage = NO_USAGE,
): Promise<BatchEnd> {
  const isSettled = done.isWaiting;
  const answer = await done.settleAll();
  if (answer === 'fenced') return 'lost';
  const cause = answer === 'recorded' ? why : answer;
  if (typeof cause === 'string' || 'host' in cause) {
    return (await release(deps, lease, cause, usage, signal)) || isSettled ? 'over' : 'lost';
  }
  // Waits with the lease: if the work went back at once, it would be claimed at once, here or elsewhere, and fail
  // again.
  await deps.clock.sleep(cause.delayMs, signal);
  const isReleased = await release(deps, lease, { error: describeOwnError(cause.error) }, usage, signal);
  // The settled items may have been all that was left, because the others were cancelled with their job.
  return isReleased || isSettled ? 'over' : 'lost';
}

/** Repeated for as long as the lease is ours: a lease left to expire would give its items a strike. */
async function release(
  deps: BatchEndDeps,
  lease: Lease,
  because: ReleaseCause,
  usage: Usage,
  signal: AbortSignal,
): Promise<boolean> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await deps.leases.release(lease.token, because, deps.clock.now(), usage);
    } catch (error) {
      if (deps.isLost(signal) || isHopeless(error, signal)) return false;
      if (!(error instanceof StorageTrouble)) {
        deps.onError(`release of batch ${lease.ref.batchId} of job ${lease.ref.jobId}`, error);
      }
      await deps.clock.sleep(RELEASE_AGAIN_MS * Math.min(tries, MAX_RELEASE_FACTOR));
    }
  }
}

const RELEASE_AGAIN_MS = 500;

/** A worker that has lost its owner must not wait longer than this before it ends. */
const MAX_RELEASE_FACTOR = 4;
