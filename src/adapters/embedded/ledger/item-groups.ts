import type { NewItem } from '../../../domain/item.ts';
import { lastKey, placeOf, rowKey } from './row-key.ts';
import type { Statements } from './statements.ts';

/**
 * Which items have which group. A row is where a run of neighbours of one group begins, and it lasts until the next row
 * of the job: a million items of five sites have five rows, and a job without groups has none. A row without a name
 * begins a run of items without a group.
 */
export class ItemGroups {
  readonly #sql: Statements;

  constructor(sql: Statements) {
    this.#sql = sql;
  }

  /** Records the groups of new items at the end of a job. */
  append(num: number, firstSeq: number, items: readonly NewItem[]): void {
    if (items.length === 0) return;
    let current = firstSeq === 0 ? null : this.reader(num).at(firstSeq - 1);
    let key = rowKey(num, firstSeq);
    for (const { group = null } of items) {
      if (group !== current) this.#sql.insertGroup.run(key, group);
      current = group;
      key += 1;
    }
  }

  /** Changes the group of one item. The run that it was part of continues after it. */
  change(num: number, seq: number, group: string | null, total: number): void {
    const before = this.reader(num).at(seq);
    if (before === group) return;
    const isLast = seq + 1 === total;
    const after = isLast ? null : this.reader(num).at(seq + 1);
    this.#sql.setGroup.run(rowKey(num, seq), group);
    if (!isLast) this.#sql.setGroup.run(rowKey(num, seq + 1), after);
  }

  reader(num: number): GroupReader {
    return new GroupReader(this.#sql, num);
  }

  /** Runs of neighbours of one group from this place up to `end`, at most `limit`: one read, however long they are. */
  runsFrom(num: number, seq: number, end: number, limit: number): readonly GroupRun[] {
    if (seq >= end || limit < 1) return [];
    const later = this.#sql.groupsAfter.all(rowKey(num, seq), lastKey(num), limit) as unknown as GroupRow[];
    const first = { seq, group: this.reader(num).at(seq) };
    const begins = [first, ...later.map(({ key, name }) => ({ seq: placeOf(key), group: name }))];
    return begins.slice(0, limit).map((begin, index) => {
      return { group: begin.group, count: (begins[index + 1]?.seq ?? end) - begin.seq };
    });
  }
}

export interface GroupRun {
  readonly group: string | null;
  readonly count: number;
}

interface GroupRow {
  readonly key: number;
  readonly name: string | null;
}

/** Groups of a job's items, requested in the order of their places: two lookups per run. */
export class GroupReader {
  readonly #sql: Statements;
  readonly #num: number;
  #group: string | null = null;
  /** Where the run ends that was read last. */
  #end = 0;

  constructor(sql: Statements, num: number) {
    this.#sql = sql;
    this.#num = num;
  }

  at(seq: number): string | null {
    if (seq >= this.#end) this.#read(seq);
    return this.#group;
  }

  #read(seq: number): void {
    const key = rowKey(this.#num, seq);
    const current = this.#sql.groupUpTo.get(rowKey(this.#num, 0), key) as GroupRow | undefined;
    const next = this.#sql.groupsAfter.get(key, lastKey(this.#num), 1) as GroupRow | undefined;
    this.#group = current?.name ?? null;
    this.#end = next === undefined ? Number.POSITIVE_INFINITY : placeOf(next.key);
  }
}

/** The field, or nothing: an item without a group does not have the field. */
export function groupField(group: string | null): { readonly group?: string } {
  return group === null ? NONE : { group };
}

const NONE = {};
