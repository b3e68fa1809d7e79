import type { FailureType } from '../../../domain/failure.ts';
import { text } from '../dynamo/attributes.ts';
import type { Table } from '../dynamo/table.ts';
import { markPk, markSk } from './keys.ts';
import type { OutcomeEntry } from './outcome-log.ts';

/** Outcomes that few items have, so that a list of them must not examine all the others. */
export type Mark = 'failed' | 'skipped' | FailureType;

/**
 * Which chunks have such items. A mark is written before the outcome, and stays when the item is reopened: it says
 * where to look, not what is there.
 */
export async function writeMarks(
  table: Table,
  inc: string,
  chunk: number,
  entries: readonly OutcomeEntry[],
): Promise<void> {
  const marks = new Set(entries.flatMap(marksOf));
  if (marks.size === 0) return;
  await table.putAll([...marks].map((mark) => ({ pk: text(markPk(inc)), sk: text(markSk(`${mark}`, chunk)) })));
}

function marksOf({ end, failure }: OutcomeEntry): readonly Mark[] {
  if (end === 'success') return [];
  return failure === undefined ? [end] : [end, failure.type];
}

/** Chunks from `first` on that have, or had, what the mark says; in order, at most `limit`. */
export async function markedChunks(
  table: Table,
  inc: string,
  mark: Mark,
  first: number,
  limit: number,
): Promise<readonly number[]> {
  const rows = await table.first({ pk: markPk(inc), begins: `${mark}#`, from: markSk(mark, first) }, limit);
  return rows.map((row) => Number(row['sk']?.S?.slice(mark.length + 1)));
}
