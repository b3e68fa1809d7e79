import { type ItemRecord, isFinal } from '../../src/domain/item.ts';
import type { JobRecord } from '../../src/domain/job.ts';
import type { Ledger, Page } from '../../src/ports/ledger.ts';

export async function* itemsOf(ledger: Ledger, jobId: string): AsyncGenerator<ItemRecord> {
  let after: string | null = null;
  do {
    const page: Page<ItemRecord> = await ledger.items(jobId, { status: null, errorType: null }, { after, limit: 1000 });
    yield* page.entries;
    after = page.next;
  } while (after !== null);
}

/** Every item ended, once, as its input says; and the counters are what one counts. */
export async function recount(ledger: Ledger, job: JobRecord, items: number): Promise<readonly string[]> {
  const problems: string[] = [];
  const seen = new Map<string, ItemRecord>();
  for await (const item of itemsOf(ledger, job.jobId)) {
    if (seen.has(item.itemId)) problems.push(`${item.itemId} is there twice`);
    seen.set(item.itemId, item);
  }
  const ends = { success: 0, failed: 0 };
  for (let number = 0; number < items; number += 1) {
    const item = seen.get(`item-${number}`);
    const expected = number % 50 === 7 ? 'failed' : 'success';
    if (item === undefined || !isFinal(item.status)) problems.push(`item-${number} is lost: ${item?.status}`);
    else if (item.status !== expected)
      problems.push(`item-${number} is ${item.status}: ${JSON.stringify(item.attempts.at(-1)?.failure)}`);
    else ends[expected] += 1;
    if (item !== undefined && item.attempts.length !== 1)
      problems.push(`item-${number} ended ${item.attempts.length} times`);
    if (item?.status === 'success' && item.artifacts.length !== (number % 10 === 0 ? 1 : 0)) {
      problems.push(`item-${number} has ${item.artifacts.length} artifacts`);
    }
  }
  const { success, failed, total } = job.counts;
  if (success !== ends.success || failed !== ends.failed || total !== items) {
    problems.push(`counted ${JSON.stringify(job.counts)}, there are ${JSON.stringify(ends)} of ${items}`);
  }
  const groups = await ledger.failureGroups(job.jobId, 1000);
  const grouped = groups.reduce((sum, { count }) => sum + count, 0);
  if (grouped !== failed) problems.push(`${grouped} failures in groups, ${failed} counted`);
  return problems;
}
