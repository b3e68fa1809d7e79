import type { HeldBack } from '../domain/job-wait.ts';
import { describeOwnError, ownErrorFailure } from '../domain/own-error.ts';
import { NO_USAGE, type Usage } from '../domain/usage.ts';
import type { Clock } from '../ports/clock.ts';
import type { Faults } from '../ports/faults.ts';
import type { Lease, Settlement, WorkerLeases } from '../ports/ledger.ts';
import type { ReleaseCause } from '../ports/return-cause.ts';
import { StorageTrouble } from '../ports/storage-trouble.ts';
import type { OwnErrors } from './own-errors.ts';
import type { Settler } from './settle.ts';

/** `over`: the ledger knows how every item ended, or has the rest back. `lost`: the lease is no longer ours. */
export type BatchEnd = 'over' | 'lost';

/** An error of our own, and how long to wait before the work goes back. */
export interface OwnTrouble {
  readonly error: unknown;
  readonly delayMs: number;
}

export interface BatchEndDeps {
  readonly leases: Omit<WorkerLeases, 'claim'>;
  readonly settler: Settler;
  readonly ownErrors: OwnErrors;
  readonly clock: Clock;
  readonly faults: Faults;
  /** Whether the batch was cut off because its lease is lost, rather than because the worker stops. */
  readonly isLost: (signal: AbortSignal) => boolean;
  readonly onError: (where: string, error: unknown) => void;
}

/**
 * Records finished items, and empties `done`. A failing ledger is asked again a few times, then item by item: one item
 * that cannot be recorded must not cost the others, and is itself recorded as failed after enough attempts.
 */
export async function settleDone(
  deps: BatchEndDeps,
  lease: Lease,
  done: Settlement[],
  signal: AbortSignal,
): Promise<'recorded' | 'fenced' | OwnTrouble> {
  const items = done.splice(0);
  const answer = await settle(deps, lease, items, SETTLE_TRIES, signal);
  if (typeof answer !== 'object') return answer;
  let trouble: OwnTrouble | null = null;
  for (const item of items) {
    const one = await settleOne(deps, lease, item, signal);
    if (one === 'fenced') return 'fenced';
    if (one !== 'recorded') trouble ??= one;
  }
  return trouble ?? 'recorded';
}

async function settleOne(
  deps: BatchEndDeps,
  lease: Lease,
  item: Settlement,
  signal: AbortSignal,
): Promise<'recorded' | 'fenced' | OwnTrouble> {
  const answer = await settle(deps, lease, [item], 1, signal);
  if (typeof answer !== 'object') return answer;
  const next = deps.ownErrors.note(lease, item);
  if (next.kind === 'give-back') return { ...answer, delayMs: next.delayMs };
  const failed = { ...item, outcome: { kind: 'failed', failure: ownErrorFailure(answer.error) } } as const;
  const last = await settle(deps, lease, [failed], SETTLE_TRIES, signal);
  return typeof last === 'object' ? { ...last, delayMs: SETTLE_AGAIN_MS } : last;
}

/** A stopping worker also waits for space: unsettled items would get a strike. */
async function settle(
  deps: BatchEndDeps,
  lease: Lease,
  items: readonly Settlement[],
  maxTries: number,
  signal: AbortSignal,
): Promise<'recorded' | 'fenced' | { readonly error: unknown }> {
  const part = { token: lease.token, jobId: lease.ref.jobId, items };
  for (let tries = 1; ; ) {
    try {
      await deps.faults.at('after-bytes-before-settle');
      const answer = await deps.settler.settle(part, signal);
      if (answer === 'recorded') for (const item of items) deps.ownErrors.forget(lease, item);
      return answer;
    } catch (error) {
      if (deps.isLost(signal) || isHopeless(error, signal)) return 'fenced';
      if (error instanceof StorageTrouble) continue;
      deps.onError(`settling batch ${lease.ref.batchId} of job ${lease.ref.jobId}`, error);
      if (tries >= maxTries) return { error };
      await deps.clock.sleep(SETTLE_AGAIN_MS * tries);
      tries += 1;
    }
  }
}

/**
 * A ledger that accepts no more writes before its restart: a stopping worker would wait forever, and a restart of the
 * ledger's owner charges no item.
 */
function isHopeless(error: unknown, signal: AbortSignal): boolean {
  return error instanceof StorageTrouble && error.kind === 'broken' && signal.aborted;
}

/**
 * Settles finished items and gives the rest back: after a pause, if the cause is an error of our own. `usage` is that
 * of the attempt that did not end.
 */
export async function giveBack(
  deps: BatchEndDeps,
  lease: Lease,
  done: Settlement[],
  why: 'drained' | 'storage' | HeldBack | OwnTrouble,
  signal: AbortSignal,
  usage: Usage = NO_USAGE,
): Promise<BatchEnd> {
  const isSettled = done.length > 0;
  const answer = isSettled ? await settleDone(deps, lease, done, signal) : 'recorded';
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

/** Covers a lost call; an error that occurs every time fails these as well. */
const SETTLE_TRIES = 3;
const SETTLE_AGAIN_MS = 500;

const RELEASE_AGAIN_MS = 500;

/** A worker that has lost its owner must not wait longer than this before it ends. */
const MAX_RELEASE_FACTOR = 4;
