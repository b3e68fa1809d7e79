import { ARTIFACT_KINDS } from '../domain/artifact.ts';
import { FAILURES, type FailureType, failure } from '../domain/failure.ts';
import type { ProducedArtifact, ScrapeResult } from './scraper.ts';

/**
 * What a scraper returned, if it is a result. Scrapers are other people's code, and not all of it is type-checked: one
 * that returns something else has a bug, which must not reach the ledger as anything but its own failure.
 */
export function checkedResult(value: unknown): ScrapeResult {
  if (!isObject(value)) return noResult(`returned ${describe(value)}`);
  switch (value['kind']) {
    case 'scraped':
      return checkedArtifacts(value['artifacts']);
    case 'skipped': {
      const { reason } = value;
      return reason === 'cached' || reason === 'known-bad'
        ? { kind: 'skipped', reason }
        : noResult(`skipped the item for an unknown reason, ${describe(reason)}`);
    }
    case 'failed':
      return checkedFailure(value['failure']);
    default:
      return noResult(`returned an object of kind ${describe(value['kind'])}`);
  }
}

function checkedArtifacts(value: unknown): ScrapeResult {
  if (!Array.isArray(value)) return noResult('returned no list of artifacts');
  for (const artifact of value) {
    if (!isArtifact(artifact)) return noResult('returned an artifact without a known kind, bytes, type or extension');
  }
  const kinds = new Set(value.map(({ kind }) => kind));
  if (kinds.size < value.length) return noResult('returned two artifacts of one kind');
  return { kind: 'scraped', artifacts: value };
}

function isArtifact(value: unknown): value is ProducedArtifact {
  return (
    isObject(value) &&
    ARTIFACT_KINDS.some((kind) => kind === value['kind']) &&
    (value['bytes'] instanceof Uint8Array || isDraft(value['bytes'])) &&
    typeof value['contentType'] === 'string' &&
    typeof value['extension'] === 'string'
  );
}

/** The attempt knows the drafts that it lent out, so that a made-up one fails there. */
function isDraft(value: unknown): boolean {
  return isObject(value) && typeof value['size'] === 'number' && typeof value['discard'] === 'function';
}

/** Made anew, so that an over-long message is cut and nothing else travels along. */
function checkedFailure(value: unknown): ScrapeResult {
  if (!isObject(value) || !isFailureType(value['type']) || typeof value['message'] !== 'string') {
    return noResult('failed without a known type and a message');
  }
  const { retryAfterMs } = value;
  const hint = typeof retryAfterMs === 'number' && retryAfterMs >= 0 && retryAfterMs < Number.POSITIVE_INFINITY;
  const page = typeof value['page'] === 'string' ? value['page'] : null;
  const more = { cause: value['cause'], retryAfterMs: hint ? retryAfterMs : null, page };
  return { kind: 'failed', failure: failure(value['type'], value['message'], more) };
}

function isFailureType(value: unknown): value is FailureType {
  return typeof value === 'string' && Object.hasOwn(FAILURES, value);
}

function noResult(what: string): ScrapeResult {
  return { kind: 'failed', failure: failure('unexpected', `the scraper ${what}, which is no result`) };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

function describe(value: unknown): string {
  return typeof value === 'string' ? `"${value.slice(0, 40)}"` : typeof value;
}
