import type { JobRecord } from '../../../src/domain/job.ts';
import type { Settlement } from '../../../src/ports/ledger.ts';
import { isItem } from '../linked-items.ts';
import { textOf } from './corrections.ts';
import { addModelItem, type Model, type ModelFinds, type ModelItem, type ModelJob, NOTHING_FOUND } from './model.ts';

/** An attempt was recorded: what its page has links to is in the job from now on, each once. */
export function sawFinds(model: Model, job: ModelJob, item: ModelItem, settlement: Settlement): string | null {
  const { outcome } = settlement;
  // A page that is only read again adds no items.
  if (outcome.kind === 'failed' || (job.isExtraction && outcome.found === undefined)) return null;
  const links = model.links.of(job.jobId, item.itemId);
  const ids = links.filter(isItem).map((link) => link.item_id);
  const { items = [], invalid = 0 } = outcome.found ?? {};
  if (items.map(({ itemId }) => itemId).join() !== ids.join())
    return `found ${items.length} of its ${ids.length} links`;
  if (invalid !== links.length - ids.length) return `reported ${invalid} links that are none`;
  const sum = { ...job.finds, invalid: job.finds.invalid + invalid };
  const { max_depth, max_items } = job.policy.discovery;
  const isClosed = job.status === 'cancelled' || job.removing !== undefined || job.isExtraction;
  for (const found of items) {
    const depth = (item.depth ?? 0) + 1;
    if (found.depth !== depth) return `found ${found.itemId} at depth ${found.depth}, and that is ${depth}`;
    const mayAdd = !isClosed && sum.added < max_items && !job.ids.has(found.itemId);
    if (!isClosed && depth > max_depth) sum.tooDeep += 1;
    else if (!mayAdd) sum.known += 1;
    else {
      addModelItem(job, found);
      sum.added += 1;
    }
  }
  // After a crash this may repeat what is recorded already: what was found is believed then, not added up. But what is
  // new here leaves less of the limit to the next one, even before the record is looked at.
  job.finds = job.isFoggy ? { ...job.finds, added: sum.added } : sum;
  return null;
}

export function findsOf({ discovery }: JobRecord): ModelFinds {
  if (discovery === undefined) return NOTHING_FOUND;
  const { added, duplicates, conflicts, overLimit, tooDeep, invalid } = discovery;
  return { added, known: duplicates + conflicts + overLimit, tooDeep, invalid };
}

export function wrongFinds(job: ModelJob, record: JobRecord): string | null {
  const [finds, expected] = [findsOf(record), job.finds];
  if (job.isFoggy || textOf({ ...finds }) === textOf({ ...expected })) return null;
  return `has found ${textOf({ ...finds })} by the record, and ${textOf({ ...expected })} was settled`;
}
