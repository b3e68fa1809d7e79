import { OPEN_MS } from '../../domain/job.ts';
import type { Clock } from '../../ports/clock.ts';
import type { ItemBook, RetryFilter } from '../../ports/ledger.ts';

type RetryAnswer =
  | { readonly kind: 'reopened'; readonly items: number }
  | { readonly kind: 'missing' }
  | { readonly kind: 'refused'; readonly because: string };

const PAGE = 1000;

/** Reopens failed items page by page, any number of them; the job is not completed between two pages. */
export async function retryItems(
  { ledger, clock }: { readonly ledger: Pick<ItemBook, 'reopen' | 'addItems'>; readonly clock: Clock },
  jobId: string,
  filter: RetryFilter,
): Promise<RetryAnswer> {
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
  // No more items are to come.
  if (!filter.preview) await ledger.addItems(jobId, [], clock.now(), clock.now());
  return { kind: 'reopened', items };
}
