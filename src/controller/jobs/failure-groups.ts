import { hash } from 'node:crypto';
import type { FailureGroupAnswer } from '../../contract/failure-answers.ts';
import { isRetryable } from '../../domain/failure.ts';
import { type FailureExample, groupKey, type ReadGroup } from '../../domain/failure-group.ts';
import { layoutName } from '../../domain/page-layout.ts';
import type { ItemBook } from '../../ports/ledger.ts';

/** The groups of a job as the API shows them: with an id for retrying them, and with links to kept pages. */
export function presentFailureGroup(jobId: string, group: ReadGroup): FailureGroupAnswer {
  const { type, pattern, count, examples } = group;
  // Some fields are missing in evidence written by an older version.
  const kind = { ...group, page: group.page ?? null, place: group.place ?? null };
  return {
    id: groupId(group.keys?.[0] ?? groupKey(kind)),
    type,
    pattern,
    url_pattern: kind.place,
    page: kind.page === null ? null : layoutName(kind.page),
    count,
    retryable: isRetryable(type),
    first_at: isoOrNull(group.firstAt),
    last_at: isoOrNull(group.lastAt),
    examples: examples.map((example) => presentExample(jobId, example)),
  };
}

/** Null if no failure is counted in a group with this id; its items may have been retried since it was shown. */
export async function findFailureGroup(
  ledger: Pick<ItemBook, 'failureGroups'>,
  jobId: string,
  id: string,
): Promise<ReadGroup | null> {
  const groups = await ledger.failureGroups(jobId, ALL_GROUPS);
  return groups.find(({ keys }) => keys.some((key) => groupId(key) === id)) ?? null;
}

const ALL_GROUPS = Number.MAX_SAFE_INTEGER;

/** 48 bits are enough to distinguish a few hundred groups. */
function groupId(key: string): string {
  return hash('sha256', key).slice(0, 12);
}

function presentExample(jobId: string, { itemId, message, page }: FailureExample) {
  const item = `/jobs/${encodeURIComponent(jobId)}/items/${encodeURIComponent(itemId)}`;
  return { item_id: itemId, message, page: page === undefined ? null : `${item}/download?artifact=${page}` };
}

function isoOrNull(at: number | null | undefined): string | null {
  return at === null || at === undefined ? null : new Date(at).toISOString();
}
