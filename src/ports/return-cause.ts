import type { HeldBack } from '../domain/job-wait.ts';

export type ReturnCause = ReleaseCause | 'recalled' | 'expired' | 'lost';

/** Why a worker returns work: it is stopping, it could not store results, our own code failed, or a host must not be visited. */
export type ReleaseCause = 'drained' | 'storage' | { readonly error: string } | HeldBack;

export function isHeldBack(because: ReturnCause): because is HeldBack {
  return typeof because === 'object' && 'host' in because;
}

/** Whether our own code failed, which an operator should look at. A host's pause is not such an error. */
export function isOwnError(because: ReturnCause): because is { readonly error: string } {
  return typeof because === 'object' && 'error' in because;
}
