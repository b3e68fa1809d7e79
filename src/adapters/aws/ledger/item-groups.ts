import type { NewItem } from '../../../domain/item.ts';
import { atOnce } from '../at-once.ts';
import { json, jsonOf, type Row, text, textOf } from '../dynamo/attributes.ts';
import type { Table } from '../dynamo/table.ts';
import type { JobRows } from './job-rows.ts';
import { chunkOf, chunkPk, correctedGroupSk, GROUPS_PREFIX, groupsSk } from './keys.ts';

/** Groups by the places of their items; items without a group are left out. */
export type Groups = ReadonlyMap<number, string>;

/** Neighbours of one group. */
type PackedRun = readonly [count: number, group: string | null];

/**
 * The groups of items that were added together, in a separate row next to their inputs: a dispatch reads groups, and a
 * read is billed by the whole row. Items without groups have no such row.
 */
export function groupRows(inc: string, first: number, items: readonly NewItem[]): readonly Row[] {
  if (items.every(({ group }) => group === undefined)) return [];
  const runs: [number, string | null][] = [];
  for (const { group = null } of items) {
    const last = runs.at(-1);
    if (last !== undefined && last[1] === group) last[0] += 1;
    else runs.push([1, group]);
  }
  const groups = json(runs satisfies PackedRun[]);
  return [{ pk: text(chunkPk(inc, chunkOf(first))), sk: text(groupsSk(first)), groups }];
}

/** The group of one item from now on, because it was corrected after this attempt. */
export function correctedGroupRow(inc: string, seq: number, attempt: number, group: string | null): Row {
  const groups = json([[1, group]] satisfies PackedRun[]);
  return { pk: text(chunkPk(inc, chunkOf(seq))), sk: text(correctedGroupSk(seq, attempt)), groups };
}

/** From rows of a chunk, of whatever kind, in the order of their keys: that of a correction comes after those before it. */
export function groupsOfRows(rows: readonly Row[]): Groups {
  const groups = new Map<number, string>();
  for (const row of rows) {
    const sk = textOf(row, 'sk');
    if (!sk.startsWith(GROUPS_PREFIX)) continue;
    let seq = Number(sk.slice(GROUPS_PREFIX.length).split('#')[0]);
    for (const [count, group] of jsonOf<readonly PackedRun[]>(row, 'groups')) {
      for (const end = seq + count; seq < end; seq += 1) {
        if (group === null) groups.delete(seq);
        else groups.set(seq, group);
      }
    }
  }
  return groups;
}

/** Groups of all items of these chunks. */
export async function readGroups(table: Table, inc: string, chunks: readonly number[]): Promise<Groups> {
  const read = await atOnce(CHUNKS_AT_ONCE, chunks, async (chunk) => {
    return groupsOfRows(await table.all({ pk: chunkPk(inc, chunk), begins: GROUPS_PREFIX }));
  });
  return new Map(read.flatMap((groups) => [...groups]));
}

/**
 * What a dispatch knows about groups, chunk by chunk. It reads nothing for a job whose batches are not made by group.
 */
export class KnownGroups {
  readonly #table: Table;
  readonly #job: JobRows;
  readonly #groups = new Map<number, string>();
  readonly #chunks = new Set<number>();

  constructor(table: Table, job: JobRows) {
    this.#table = table;
    this.#job = job;
  }

  async learn(chunks: readonly number[]): Promise<void> {
    if (this.#job.record.batching === undefined) return;
    const unknown = [...new Set(chunks)].filter((chunk) => !this.#chunks.has(chunk));
    if (unknown.length === 0) return;
    for (const [seq, group] of await readGroups(this.#table, this.#job.inc, unknown)) this.#groups.set(seq, group);
    for (const chunk of unknown) this.#chunks.add(chunk);
  }

  /** Null for an item without a group, and for all items where groups do not matter. */
  at(seq: number): string | null {
    return this.#groups.get(seq) ?? null;
  }

  knows(chunk: number): boolean {
    return this.#job.record.batching === undefined || this.#chunks.has(chunk);
  }
}

export const CHUNKS_AT_ONCE = 8;
