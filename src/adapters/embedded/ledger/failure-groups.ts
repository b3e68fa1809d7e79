import type { FailedStep, Failure, FailureType } from '../../../domain/failure.ts';
import {
  addToGroup,
  chooseGroup,
  commonestGroups,
  countedIn,
  emptyGroup,
  type FailureExample,
  type FailureGroup,
  type GroupKind,
  groupKey,
  type NewFailure,
  type ReadGroup,
  removeFromGroup,
} from '../../../domain/failure-group.ts';
import type { Statements } from './statements.ts';

/** The failures of jobs, grouped. In memory while a job has failures coming in; each group is written once per commit. */
export class FailureGroups {
  readonly #sql: Statements;
  readonly #byJob = new Map<number, Map<string, Entry>>();
  readonly #dirty = new Set<Entry>();

  constructor(sql: Statements) {
    this.#sql = sql;
  }

  /** Returns whether it went into the collective group of its type. */
  add(jobNum: number, failure: Failure, counted: NewFailure): { readonly isOther: boolean } {
    const groups = this.#groupsOf(jobNum);
    const { kind, isOther } = chooseGroup(failure, (key) => groups.has(key), groups.size);
    const entry = this.#entryFor(jobNum, groups, kind);
    entry.group = addToGroup(entry.group, counted);
    this.#dirty.add(entry);
    return { isOther };
  }

  /** The item is no longer failed. */
  remove(jobNum: number, failure: Failure, isOther: boolean, itemId: string): void {
    const groups = this.#groupsOf(jobNum);
    const key = groupKey(countedIn(failure, isOther));
    const entry = groups.get(key);
    if (entry === undefined) return;
    const left = removeFromGroup(entry.group, [itemId]);
    entry.group = left ?? { ...entry.group, count: 0, examples: [] };
    this.#dirty.add(entry);
    if (left === null) groups.delete(key);
  }

  commonest(jobNum: number, max: number): readonly ReadGroup[] {
    const groups = [...this.#groupsOf(jobNum).values()].map(({ group }) => group);
    return commonestGroups(groups, max);
  }

  removeJob(jobNum: number): void {
    for (const entry of this.#dirty) if (entry.jobNum === jobNum) this.#dirty.delete(entry);
    this.#byJob.delete(jobNum);
    this.#sql.deleteFailureGroups.run(jobNum);
  }

  flush(): void {
    for (const entry of this.#dirty) this.#save(entry);
    this.#dirty.clear();
    if (this.#byJob.size > MAX_CACHED_JOBS) this.#byJob.clear();
  }

  forget(): void {
    this.#dirty.clear();
    this.#byJob.clear();
  }

  #save(entry: Entry): void {
    const { count, firstAt, lastAt, type, pattern, page, place, step } = entry.group;
    const examples = JSON.stringify(entry.group.examples);
    if (count === 0) {
      if (entry.id !== null) this.#sql.deleteFailureGroup.run(entry.id);
    } else if (entry.id === null) {
      const kind = [type, pattern, page, place, step === null ? null : JSON.stringify(step)] as const;
      const added = this.#sql.insertFailureGroup.run(entry.jobNum, ...kind, count, firstAt, lastAt, examples);
      entry.id = Number(added.lastInsertRowid);
    } else {
      this.#sql.updateFailureGroup.run(count, firstAt, lastAt, examples, entry.id);
    }
  }

  #entryFor(jobNum: number, groups: Map<string, Entry>, kind: GroupKind): Entry {
    const key = groupKey(kind);
    const present = groups.get(key);
    if (present !== undefined) return present;
    const entry: Entry = { id: null, jobNum, group: emptyGroup(kind) };
    groups.set(key, entry);
    return entry;
  }

  #groupsOf(jobNum: number): Map<string, Entry> {
    const present = this.#byJob.get(jobNum);
    if (present !== undefined) return present;
    const groups = new Map<string, Entry>();
    for (const row of this.#sql.failureGroups.all(jobNum) as unknown as GroupRow[]) {
      const { id, type, pattern, page, place, count, first_at: firstAt, last_at: lastAt } = row;
      const examples: readonly FailureExample[] = JSON.parse(row.examples);
      const step: FailedStep | null = row.step === null ? null : JSON.parse(row.step);
      const group: FailureGroup = { type, pattern, page, place, step, count, firstAt, lastAt, examples };
      groups.set(groupKey(group), { id, jobNum, group });
    }
    this.#byJob.set(jobNum, groups);
    return groups;
  }
}

const MAX_CACHED_JOBS = 100;

interface Entry {
  /** Null until it has a row. */
  id: number | null;
  readonly jobNum: number;
  group: FailureGroup;
}

interface GroupRow {
  readonly id: number;
  readonly type: FailureType;
  readonly pattern: string;
  readonly page: string | null;
  readonly place: string | null;
  readonly step: string | null;
  readonly count: number;
  readonly first_at: number | null;
  readonly last_at: number | null;
  readonly examples: string;
}
