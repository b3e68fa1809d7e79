import { ARTIFACT_KINDS, artifactLabel, isPageName, MAX_PAGES } from '../domain/artifact.ts';
import { FAILURES, type FailedStep, type FailureType, failure } from '../domain/failure.ts';
import { isRecord } from '../domain/is-record.ts';
import { isSeenStep } from '../domain/recording/step-statistics.ts';
import { isSkipReason } from '../domain/skip-reason.ts';
import type { Evidence, FoundItem, ProducedArtifact, ScrapeResult } from './scraper.ts';

/**
 * The result of a scraper, if it is valid. Scrapers are other people's code, and not all of it is type-checked: an
 * invalid result is a bug, which must reach the ledger only as that item's failure.
 */
export function checkedResult(value: unknown): ScrapeResult {
  if (!isRecord(value)) return noResult(`returned ${describe(value)}`);
  switch (value['kind']) {
    case 'scraped': {
      const artifacts = checkedArtifacts(value['artifacts']);
      if (typeof artifacts === 'string') return noResult(artifacts);
      const found = checkedFound(value['found']);
      if (typeof found === 'string') return noResult(found);
      return { kind: 'scraped', artifacts, ...found, ...checkedFacts(value) };
    }
    case 'skipped':
      return checkedSkip(value);
    case 'failed':
      return checkedFailure(value);
    default:
      return noResult(`returned an object of kind ${describe(value['kind'])}`);
  }
}

function checkedSkip(value: Readonly<Record<string, unknown>>): ScrapeResult {
  const { reason, artifacts = [] } = value;
  if (!isSkipReason(reason)) return noResult(`skipped the item for an unknown reason, ${describe(reason)}`);
  const kept = checkedArtifacts(artifacts);
  if (typeof kept === 'string') return noResult(kept);
  const found = checkedFound(value['found']);
  if (typeof found === 'string') return noResult(found);
  return {
    kind: 'skipped',
    reason,
    ...found,
    ...(kept.length === 0 ? {} : { artifacts: kept, ...checkedFacts(value) }),
  };
}

/** The artifacts, or what is wrong with them. */
function checkedArtifacts(value: unknown): readonly ProducedArtifact[] | string {
  if (!Array.isArray(value)) return 'did not return a list of artifacts';
  for (const artifact of value) {
    if (!isArtifact(artifact)) return 'returned an artifact without a known kind, bytes, type or extension';
  }
  const labels = new Set(value.map(artifactLabel));
  if (labels.size < value.length) return 'returned two artifacts of one kind';
  return value.length > MAX_PAGES + ARTIFACT_KINDS.length ? `returned more than ${MAX_PAGES} pages` : value;
}

const NOTHING_FOUND = {};

/** Each entry is checked where it becomes an item: a bad one must not cost the others. */
function checkedFound(value: unknown): { readonly found?: readonly FoundItem[] } | string {
  if (value === undefined || value === null) return NOTHING_FOUND;
  return Array.isArray(value) ? { found: value } : 'returned something as `found` that is not a list';
}

function checkedFacts(value: Readonly<Record<string, unknown>>): Pick<ScrapeResult, 'facts' | 'steps'> {
  const { facts, steps } = value;
  return {
    ...(isRecord(facts) && { facts }),
    ...(Array.isArray(steps) && steps.every(isSeenStep) && { steps }),
  };
}

function isArtifact(value: unknown): value is ProducedArtifact {
  return (
    isRecord(value) &&
    ARTIFACT_KINDS.some((kind) => kind === value['kind']) &&
    isNamedRight(value) &&
    (value['bytes'] instanceof Uint8Array || isDraft(value['bytes'])) &&
    isTextOrAbsent(value['contentType']) &&
    isTextOrAbsent(value['extension'])
  );
}

/** A page has a name, and nothing else has one. */
function isNamedRight({ kind, name }: Readonly<Record<string, unknown>>): boolean {
  return kind === 'page' ? typeof name === 'string' && isPageName(name) : name === undefined;
}

/** The attempt knows the drafts that it lent out, so that a made-up one fails there. */
function isDraft(value: unknown): boolean {
  return isRecord(value) && typeof value['size'] === 'number' && typeof value['discard'] === 'function';
}

/** A copy, so that an overlong message is cut and nothing else is passed on. */
function checkedFailure(given: Readonly<Record<string, unknown>>): ScrapeResult {
  const { failure: value, artifacts = [], evidence } = given;
  if (!isRecord(value) || !isFailureType(value['type']) || typeof value['message'] !== 'string') {
    return noResult('failed without a known type and a message');
  }
  const { retryAfterMs } = value;
  const hint = typeof retryAfterMs === 'number' && retryAfterMs >= 0 && retryAfterMs < Number.POSITIVE_INFINITY;
  const page = typeof value['page'] === 'string' ? value['page'] : null;
  const more = {
    cause: value['cause'],
    retryAfterMs: hint ? retryAfterMs : null,
    page,
    step: checkedStep(value['step']),
  };
  // The reason of a failure must not be lost because something is wrong with its artifacts.
  const kept = checkedArtifacts(artifacts);
  return {
    kind: 'failed',
    failure: failure(value['type'], value['message'], more),
    ...(typeof kept === 'string' || kept.length === 0 ? {} : { artifacts: kept }),
    ...checkedFacts(given),
    ...(isEvidence(evidence) && { evidence }),
  };
}

function checkedStep(value: unknown): FailedStep | null {
  if (!isRecord(value)) return null;
  const { path, label } = value;
  return typeof path === 'string' && typeof label === 'string' ? { path, label } : null;
}

function isEvidence(value: unknown): value is Evidence {
  if (!isRecord(value) || typeof value['url'] !== 'string' || !isArtifact(value['page'])) return false;
  const { picture } = value;
  return picture === undefined || (isArtifact(picture) && picture.kind === 'screenshot');
}

function isFailureType(value: unknown): value is FailureType {
  return typeof value === 'string' && Object.hasOwn(FAILURES, value);
}

function noResult(what: string): ScrapeResult {
  return { kind: 'failed', failure: failure('unexpected', `the scraper ${what}, which is not a result`) };
}

function isTextOrAbsent(value: unknown): boolean {
  return value === undefined || typeof value === 'string';
}

function describe(value: unknown): string {
  return typeof value === 'string' ? `"${value.slice(0, 40)}"` : typeof value;
}
