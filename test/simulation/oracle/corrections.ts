import type { ItemInput, ItemRecord, NewItem } from '../../../src/domain/item.ts';
import type { AddAnswer } from '../../../src/ports/ledger.ts';
import { type Model, type ModelItem, type ModelJob, reopenModelItem } from './model.ts';

type Added = Extract<AddAnswer, { kind: 'added' }>;

/** These are about to be sent. It may never be known whether the ledger took one as a failed item's new input. */
export function askedToCorrect(model: Model, jobId: string, items: readonly NewItem[]): void {
  for (const { itemId, input } of items) {
    const name = `${jobId}/${itemId}`;
    const offered = model.offered.get(name) ?? new Set();
    model.offered.set(name, offered.add(textOf(input)));
  }
}

/** What became of items that the job had already: only a failed one may take another input, and it must. */
export function sawKnown(
  job: ModelJob,
  items: readonly NewItem[],
  { replaced, differing }: Added,
  fail: (message: string) => void,
): void {
  const met = new Set<string>();
  for (const [index, { itemId, input, group }] of items.entries()) {
    const item = job.items.find((each) => each.itemId === itemId);
    const isFirst = !met.has(itemId);
    met.add(itemId);
    if (item === undefined) continue;
    const name = `addItems ${job.jobId}: ${itemId}`;
    const isReplaced = replaced.includes(index);
    if (!job.isFoggy) {
      const isOther = item.input !== textOf(input);
      if (isOther !== (isReplaced || differing.includes(index))) fail(`${name} has ${item.input}, and was misjudged`);
      if (isReplaced && (item.final !== 'failed' || !isFirst)) fail(`${name} was replaced, and is ${item.final}`);
      // It may be among those that a retry reopened or a re-extraction recovered, which are not known by name yet.
      const mustTake = item.final === 'failed' && isFirst && job.mayReopen + job.mayRecover === 0;
      if (isOther && !isReplaced && mustTake) fail(`${name} failed, and keeps its input`);
    }
    if (!isReplaced) continue;
    take(item, textOf(input), group ?? null);
  }
}

/** The input that an item shows, or that a worker gets, is the one that was taken last. */
export function wrongInput(model: Model, job: ModelJob, item: ModelItem, actual: ItemRecord): string | null {
  const input = textOf(actual.input);
  if (input === item.input) return null;
  if (!job.isFoggy) return `has the input ${input}, and ${item.input} was taken last`;
  const offered = model.offered.get(`${job.jobId}/${item.itemId}`);
  if (!offered?.has(input)) return `has the input ${input}, which nobody sent`;
  take(item, input, actual.group ?? null);
  return null;
}

function take(item: ModelItem, input: string, group: string | null): void {
  item.input = input;
  item.group = group;
  if (item.final === 'failed') reopenModelItem(item);
}

export function textOf(input: ItemInput): string {
  return JSON.stringify(input);
}
