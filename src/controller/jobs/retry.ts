import type { ReadGroup } from '../../domain/failure-group.ts';
import { OPEN_MS } from '../../domain/job.ts';
import type { Clock } from '../../ports/clock.ts';
import type { ItemBook, RetryFilter } from '../../ports/ledger.ts';
import { findFailureGroup } from './failure-groups.ts';

type RetryAnswer =
  | { readonly kind: 'reopened'; readonly items: number }
  | { readonly kind: 'missing' }
  | { readonly kind: 'refused'; readonly because: string };

const PAGE = 1000;

export interface RetryRequest extends Omit<RetryFilter, 'groupKeys'> {
  /** Id of a group of failures. */
  readonly group: string | null;
}

interface RetryDeps {
  readonly ledger: Pick<ItemBook, 'reopen' | 'addItems' | 'failureGroups'>;
  readonly clock: Clock;
}

/** If the group no longer exists, no items are looked for. */
function filterFor(wanted: Omit<RetryFilter, 'groupKeys'>, isOfGroup: boolean, found: ReadGroup | null): RetryFilter {
  if (!isOfGroup) return { ...wanted, groupKeys: null };
  if (found === null) return { ...wanted, itemIds: [], groupKeys: [] };
  // The ledger finds items of a type without looking at the others.
  return { ...wanted, errorType: wanted.errorType ?? found.type, groupKeys: found.keys };
}

/** Reopens failed items page by page, any number of them; the job is not completed between two pages. */
export async function retryItems(
  { ledger, clock }: RetryDeps,
  jobId: string,
  { group, ...wanted }: RetryRequest,
): Promise<RetryAnswer> {
  // Looked up once: the group shrinks with each page, and is gone after the last.
  const found = group === null ? null : await findFailureGroup(ledger, jobId, group);
  const filter = filterFor(wanted, group !== null, found);
  let items = 0;
  let after: string | null = null;
  do {
    // If the process dies between two pages, the job continues with what was reopened.
    const openUntil = clock.now() + OPEN_MS;
    const answer = await ledger.reopen(jobId, filter, { after, limit: PAGE }, openUntil, clock.now());
    if (!('kind' in answer)) return { kind: 'refused', because: answer.refused };
    if (answer.kind === 'missing') return answer;
    items += answer.items;
    after = answer.next;
  } while (after !== null);
  // No more items will come.
  if (!filter.preview) await ledger.addItems(jobId, [], clock.now(), clock.now());
  return { kind: 'reopened', items };
}
