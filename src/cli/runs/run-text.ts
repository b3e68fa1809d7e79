import type { RunStatsAnswer } from '../../contract/run-answers.ts';
import type { ScrapeRunItem } from '../../domain/items-to-sessions.ts';
import { EXIT } from '../exit-codes.ts';
import { formatCount, formatItems } from '../format.ts';

export function countItems(items: readonly ScrapeRunItem[]): RunStatsAnswer {
  const counts = { total: items.length, completed: 0, failed: 0, pending: 0 };
  for (const { done, failed, invalid } of items) {
    counts[done ? 'completed' : failed === true || invalid === true ? 'failed' : 'pending'] += 1;
  }
  return counts;
}

/** `300 items: 290 done, 10 failed or invalid, 0 pending` */
export function itemsText({ total, completed, failed, pending }: RunStatsAnswer): string {
  const parts = [`${formatCount(completed)} done`, `${formatCount(failed)} failed or invalid`];
  return `${formatItems(total, 'item')}: ${[...parts, `${formatCount(pending)} pending`].join(', ')}`;
}

export function exitCodeFor({ failed }: RunStatsAnswer): number {
  return failed > 0 ? EXIT.someItemsFailed : EXIT.done;
}
