import type { Failure } from '../../../src/domain/failure.ts';
import {
  addToGroup,
  chooseGroup,
  commonestGroups,
  type FailureGroup,
  groupKey,
  removeFromGroup,
} from '../../../src/domain/failure-group.ts';

/** The failures of one job, grouped. Knows which group an item is counted in, so that it can be taken out again. */
export class FailureGroups {
  readonly #groups = new Map<string, FailureGroup>();
  readonly #groupOf = new Map<string, string>();

  add(itemId: string, failure: Failure): void {
    const { kind } = chooseGroup(failure, (key) => this.#groups.has(key), this.#groups.size);
    const key = groupKey(kind);
    const group = this.#groups.get(key) ?? { ...kind, count: 0, examples: [] };
    this.#groups.set(key, addToGroup(group, { itemId, message: failure.message }));
    this.#groupOf.set(itemId, key);
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

  commonest(max: number): readonly FailureGroup[] {
    return commonestGroups([...this.#groups.values()], max);
  }
}
