/** Differences between two versions of an item's data, field by field. */
export interface FieldDifference {
  /** `owner`, `address.city`, `bills[].amount`. */
  readonly field: string;
  /** `added`: there was nothing, or null, before. `removed`: there is nothing, or null, now. */
  readonly kind: 'added' | 'removed' | 'changed';
  /** Null if there is no value. For a field of a list, all its values. */
  readonly before: unknown;
  readonly after: unknown;
}

/** Collects what does not fit into a bounded list. */
export const OTHER_FIELDS = '(other)';
const WHOLE = '(whole)';

/** A document has dozens of fields. If thousands differ, it uses a map as a list, whose keys are data. */
const MAX_DIFFERENCES = 1000;
const MAX_FIELD_LENGTH = 200;
/** Values nested deeper are compared as a whole. */
const MAX_DEPTH = 20;

/**
 * A list is compared path by path: all values of `bills[].amount`, with their places, against all previous values. So a
 * new element in the middle shows in every field of the list whose values moved.
 */
export function fieldDifferences(before: unknown, after: unknown): readonly FieldDifference[] {
  const [old, now] = [leavesOf(before), leavesOf(after)];
  const differences: FieldDifference[] = [];
  for (const field of new Set([...old.leaves.keys(), ...now.leaves.keys()])) {
    if (differences.length > MAX_DIFFERENCES) break;
    const [was, is] = [old.leaves.get(field), now.leaves.get(field)];
    // `owner: null` that became `owner: { name }` is reported as `owner.name`.
    if (isEmpty(was) && now.branches.has(field)) continue;
    if (isEmpty(is) && old.branches.has(field)) continue;
    if (JSON.stringify(was) === JSON.stringify(is)) continue;
    const kind = isNothing(was) && !isNothing(is) ? 'added' : isNothing(is) && !isNothing(was) ? 'removed' : 'changed';
    const isOther = differences.length === MAX_DIFFERENCES;
    differences.push({ field: isOther ? OTHER_FIELDS : field, kind, before: shown(was), after: shown(is) });
  }
  return differences;
}

/** All values of one field, with their places in the enclosing lists. */
interface Leaf {
  readonly places: string[];
  readonly values: unknown[];
}

interface Leaves {
  readonly leaves: Map<string, Leaf>;
  /** Fields that have others below them. */
  readonly branches: Set<string>;
}

function leavesOf(value: unknown): Leaves {
  const into: Leaves = { leaves: new Map(), branches: new Set() };
  collect(value, '', '', 0, into);
  return into;
}

function collect(value: unknown, field: string, place: string, depth: number, into: Leaves): void {
  const isBranch = typeof value === 'object' && value !== null && depth < MAX_DEPTH && Object.keys(value).length > 0;
  if (!isBranch) {
    add(into.leaves, field, place, value);
    return;
  }
  into.branches.add(nameOf(field));
  if (Array.isArray(value)) {
    for (const [index, each] of value.entries()) collect(each, `${field}[]`, `${place}${index}.`, depth + 1, into);
    return;
  }
  for (const [key, each] of Object.entries(value)) {
    collect(each, field === '' ? key : `${field}.${key}`, place, depth + 1, into);
  }
}

function add(leaves: Map<string, Leaf>, field: string, place: string, value: unknown): void {
  const name = nameOf(field);
  const leaf = leaves.get(name) ?? { places: [], values: [] };
  // Long names with the same beginning are distinguished by the rest.
  leaf.places.push(name === field || field === '' ? place : `${field} ${place}`);
  leaf.values.push(value);
  leaves.set(name, leaf);
}

function nameOf(field: string): string {
  return (field === '' ? WHOLE : field.slice(0, MAX_FIELD_LENGTH)).toWellFormed();
}

function isNothing(leaf: Leaf | undefined): boolean {
  return leaf === undefined || leaf.values.every((value) => value === null);
}

/** Null, `[]`, `{}` or absent. */
function isEmpty(leaf: Leaf | undefined): boolean {
  return leaf === undefined || leaf.values.every(isEmptyValue);
}

function isEmptyValue(value: unknown): boolean {
  return value === null || (typeof value === 'object' && Object.keys(value as object).length === 0);
}

function shown(leaf: Leaf | undefined): unknown {
  if (leaf === undefined) return null;
  return leaf.places.length === 1 && leaf.places[0] === '' ? leaf.values[0] : leaf.values;
}
