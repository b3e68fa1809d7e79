import type { Failure } from '../../../src/domain/failure.ts';
import {
  addToGroup,
  chooseGroup,
  commonestGroups,
  emptyGroup,
  type FailureGroup,
  groupKey,
  type NewFailure,
  type ReadGroup,
  removeFromGroup,
} from '../../../src/domain/failure-group.ts';

/** The failures of one job, grouped. Knows which group an item is counted in, so that it can be taken out again. */
export class FailureGroups {
  readonly #groups = new Map<string, FailureGroup>();
  readonly #groupOf = new Map<string, string>();

  add(failure: Failure, counted: NewFailure): void {
    const { kind } = chooseGroup(failure, (key) => this.#groups.has(key), this.#groups.size);
    const key = groupKey(kind);
    const group = this.#groups.get(key) ?? emptyGroup(kind);
    this.#groups.set(key, addToGroup(group, counted));
    this.#groupOf.set(counted.itemId, key);
  }

  remove(itemId: string): void {
    const key = this.#groupOf.get(itemId);
    const group = key === undefined ? undefined : this.#groups.get(key);
    if (key === undefined || group === undefined) return;
    this.#groupOf.delete(itemId);
    const left = removeFromGroup(group, [itemId]);
    if (left === null) this.#groups.delete(key);
    else this.#groups.set(key, left);
  }

  /** Null if the item is counted in none. */
  keyOf(itemId: string): string | null {
    return this.#groupOf.get(itemId) ?? null;
  }

  commonest(max: number): readonly ReadGroup[] {
    return commonestGroups([...this.#groups.values()], max);
  }
}
