import type { ModelItem, ModelJob } from './model.ts';

/** What is wrong with a batch of a job that has its batches made by group; null if nothing is. */
export function wrongBatch({ batching }: ModelJob, items: readonly ModelItem[]): string | null {
  if (batching === null) return null;
  const groups = new Set(items.map(({ group }) => group));
  if (groups.size > 1) return `a batch of the groups ${[...groups].join(', ')}`;
  if (items.length > batching.maxItems) return `a batch of ${items.length}, and the job wants ${batching.maxItems}`;
  const isInOrder = items.every(({ seq }, index) => index === 0 || seq > (items[index - 1]?.seq ?? 0));
  return isInOrder ? null : `a batch in the order ${items.map(({ seq }) => seq).join(', ')}`;
}
