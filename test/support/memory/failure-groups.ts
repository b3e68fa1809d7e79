import type { Failure } from '../../../src/domain/failure.ts';
import {
  addToGroup,
  type FailureGroup,
  groupKey,
  groupOf,
  MAX_GROUPS,
  otherGroup,
} from '../../../src/domain/failure-group.ts';

/** The failures of one job, grouped. Knows which group an item went into, because it must find out of it again. */
export class FailureGroups {
  readonly #groups = new Map<string, FailureGroup>();
  readonly #groupOf = new Map<string, string>();

  add(itemId: string, failure: Failure): void {
    const group = this.#groupFor(failure);
    const key = groupKey(group);
    this.#groups.set(key, addToGroup(group, { itemId, message: failure.message }));
    this.#groupOf.set(itemId, key);
  }

  remove(itemId: string): void {
    const key = this.#groupOf.get(itemId);
    const group = key === undefined ? undefined : this.#groups.get(key);
    if (key === undefined || group === undefined) return;
    this.#groupOf.delete(itemId);
    if (group.count === 1) {
      this.#groups.delete(key);
      return;
    }
    const examples = group.examples.filter((example) => example.itemId !== itemId);
    this.#groups.set(key, { ...group, count: group.count - 1, examples });
  }

  commonest(max: number): readonly FailureGroup[] {
    return [...this.#groups.values()].sort((a, b) => b.count - a.count).slice(0, max);
  }

  #groupFor(failure: Failure): FailureGroup {
    const own = groupOf(failure);
    const known = this.#groups.get(groupKey(own));
    if (known !== undefined) return known;
    const kind = this.#groups.size < MAX_GROUPS ? own : otherGroup(failure.type);
    return this.#groups.get(groupKey(kind)) ?? { ...kind, count: 0, examples: [] };
  }
}
