import { hash } from 'node:crypto';
import type { Failure } from '../../../domain/failure.ts';
import {
  bestExamples,
  chooseGroup,
  commonestGroups,
  countedIn,
  type FailureExample,
  type FailureGroup,
  type GroupKind,
  groupKey,
  groupOf,
  type NewFailure,
  newExamples,
  type ReadGroup,
  removeFromGroup,
} from '../../../domain/failure-group.ts';
import { json, jsonOf, type Key, num, numOf, type Row } from '../dynamo/attributes.ts';
import type { Action, Table } from '../dynamo/table.ts';
import { groupPk } from './keys.ts';

/** A failure to be counted, or no longer counted. `isOther`: it is, or will be, in the collective group of its type. */
export interface CountedFailure {
  readonly itemId: string;
  readonly failure: Failure;
  readonly isOther: boolean;
}

/** With what the group keeps of it. */
export interface FailureToCount extends CountedFailure {
  readonly counted: NewFailure;
}

/**
 * The failures of a job, grouped: a row per group, counted in the same transaction as the items. The number of groups
 * is looked up only if a failure would create a new one.
 */
export class FailureGroups {
  readonly #table: Table;

  constructor(table: Table) {
    this.#table = table;
  }

  async commonest(inc: string, max: number): Promise<readonly ReadGroup[]> {
    const groups = (await this.#table.all({ pk: groupPk(inc) })).map(groupOfRow);
    return commonestGroups(
      groups.filter(({ count }) => count > 0),
      max,
    );
  }

  /** Which of these failures have no group and may not create one. In order. */
  async areOther(inc: string, failures: readonly Failure[]): Promise<readonly boolean[]> {
    const keys = [...new Set(failures.map((failure) => groupKey(groupOf(failure))))];
    const rows = await this.#table.getAll(keys.map((key) => rowKey(inc, key)));
    const known = new Set(keys.filter((_, index) => rows[index] != null));
    const areKnown = known.size === keys.length;
    let groups = areKnown ? 0 : (await this.#table.all({ pk: groupPk(inc) })).length;
    return failures.map((failure) => {
      const { kind, isOther } = chooseGroup(failure, (key) => known.has(key), groups);
      const key = groupKey(kind);
      if (!known.has(key)) groups += 1;
      known.add(key);
      return isOther;
    });
  }

  /**
   * Counts them. Examples are only added: a surplus one, from two concurrent writers or because a later one has a page,
   * is ignored when the group is read.
   */
  async counting(inc: string, failures: readonly FailureToCount[]): Promise<readonly Action[]> {
    const byGroup = Map.groupBy(failures, groupKeyOf);
    const keys = [...byGroup.keys()];
    const rows = await this.#table.getAll(keys.map((key) => rowKey(inc, key)));
    return keys.map((key, index) => {
      const counted = byGroup.get(key) ?? [];
      const row = rows[index] ?? null;
      const found = counted.map(({ counted: { at: _, ...example } }) => example);
      const examples = newExamples(row === null ? [] : examplesOf(row), found);
      const times = counted.map(({ counted: { at } }) => at);
      const added = { count: counted.length, firstAt: Math.min(...times), lastAt: Math.max(...times), examples };
      return addAction(rowKey(inc, key), kindOf(counted), row, added);
    });
  }

  /** Removes them: each from the group in which it was counted. */
  async uncounting(inc: string, failures: readonly CountedFailure[]): Promise<readonly Action[]> {
    const byGroup = Map.groupBy(failures, groupKeyOf);
    const keys = [...byGroup.keys()];
    const rows = await this.#table.getAll(keys.map((key) => rowKey(inc, key)));
    return keys.flatMap((key, index) => {
      const row = rows[index] ?? null;
      const gone = byGroup.get(key) ?? [];
      return row === null ? [] : [takeAction(row, rowKey(inc, key), gone)];
    });
  }
}

export function groupKeyOf(failure: CountedFailure): string {
  return groupKey(kindOf([failure]));
}

function kindOf([first]: readonly CountedFailure[]): GroupKind {
  if (first === undefined) throw new Error('a group of no failures');
  return countedIn(first.failure, first.isOther);
}

function rowKey(inc: string, key: string): Key {
  return { pk: groupPk(inc), sk: hash('sha256', key).slice(0, 32) };
}

interface Times {
  readonly firstAt: number;
  readonly lastAt: number;
}

function addAction(
  key: Key,
  kind: GroupKind,
  row: Row | null,
  { count, firstAt, lastAt, examples }: Omit<FailureGroup, keyof GroupKind> & Times,
): Action {
  const added = examples.length > 0;
  const known = row === null ? null : { firstAt: timeOf(row, 'firstAt'), lastAt: timeOf(row, 'lastAt') };
  const isFirst = known === null || (known.firstAt !== null && firstAt < known.firstAt);
  const isLast = known === null || lastAt > (known.lastAt ?? 0);
  const sets = [
    '#kind = :kind',
    // Another writer may have created the group since it was looked up. Groups that an older version counted stay
    // without a first time.
    ...(isFirst ? [`#firstAt = ${known === null ? 'if_not_exists(#firstAt, :firstAt)' : ':firstAt'}`] : []),
    ...(isLast ? ['#lastAt = :lastAt'] : []),
    ...(added ? ['#examples = list_append(if_not_exists(#examples, :none), :examples)'] : []),
  ];
  return {
    update: key,
    change: `SET ${sets.join(', ')} ADD #count :count, #changes :one`,
    values: {
      ':kind': json(kind),
      ...(isFirst ? { ':firstAt': num(firstAt) } : {}),
      ...(isLast ? { ':lastAt': num(lastAt) } : {}),
      ':count': num(count),
      ':one': num(1),
      ...(added ? { ':none': { L: [] }, ':examples': { L: examples.map((example) => json(example)) } } : {}),
    },
  };
}

function takeAction(row: Row, key: Key, gone: readonly CountedFailure[]): Action {
  const left = removeFromGroup(
    { count: numOf(row, 'count'), examples: examplesOf(row) },
    gone.map(({ itemId }) => itemId),
  );
  const when = { expression: '#changes = :ifChanges', values: { ':ifChanges': num(numOf(row, 'changes')) } };
  if (left === null) return { remove: key, when };
  return {
    update: key,
    change: 'SET #examples = :examples, #count = :count ADD #changes :one',
    values: {
      ':examples': { L: left.examples.map((example) => json(example)) },
      ':count': num(left.count),
      ':one': num(1),
    },
    when,
  };
}

function examplesOf(row: Row): readonly FailureExample[] {
  return (row['examples']?.L ?? []).flatMap(({ S }): FailureExample[] => (S === undefined ? [] : [JSON.parse(S)]));
}

/** Null in the row of a group that an older version counted. */
function timeOf(row: Row, name: 'firstAt' | 'lastAt'): number | null {
  return row[name] === undefined ? null : numOf(row, name);
}

function groupOfRow(row: Row): FailureGroup {
  // Some fields are missing in rows of an older version.
  const {
    type,
    pattern,
    page,
    place = null,
    step = null,
  } = jsonOf<Omit<GroupKind, 'place' | 'step'> & Partial<GroupKind>>(row, 'kind');
  const [firstAt, lastAt] = [timeOf(row, 'firstAt'), timeOf(row, 'lastAt')];
  return {
    type,
    pattern,
    page,
    place,
    step,
    count: numOf(row, 'count'),
    firstAt,
    lastAt,
    examples: bestExamples(examplesOf(row)),
  };
}
