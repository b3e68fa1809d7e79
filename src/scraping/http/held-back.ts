import { failure } from '../../domain/failure.ts';
import { HostHeld } from '../../ports/host-gate.ts';
import { ScrapeFailure } from '../scrape-failure.ts';

/** A host that is paused for too long fails the try; any other error is returned unchanged. */
export function heldBack(error: unknown): unknown {
  if (!(error instanceof HostHeld)) return error;
  return new ScrapeFailure(failure('rate_limited', error.message, { retryAfterMs: error.ms }));
}

export function throwHeldBack(error: unknown): never {
  throw heldBack(error);
}
