import type { Digest } from './artifact.ts';
import { canonicalJson } from './canonical-json.ts';
import { isRecord } from './is-record.ts';
import { type ItemInput, MAX_GROUP_LENGTH, MAX_ITEM_ID_LENGTH, type NewItem } from './item.ts';
import { inputProblem, textProblem } from './storable-input.ts';

type ItemOrProblem = { readonly item: NewItem } | { readonly problem: string };

/**
 * Reads an item from an entry of a list: `{"item_id": …, "input": {…}, "group": …}`, or the input with the id as one of
 * its fields. An entry that is itself the input, such as a CSV row, has no group: `group` may be a field of the
 * scraper. An item without an id gets one derived from its input: by `digest`, if given, where no readable id is
 * possible.
 */
export function itemOfEntry(entry: unknown, digest: Digest | null = null): ItemOrProblem {
  if (!isRecord(entry)) return { problem: 'it is not an object' };
  const given = entry['item_id'];
  const wrapped = wrappedInput(entry);
  const input = wrapped ?? withoutId(entry);
  if (wrapped === null && Object.keys(input).length === 0) return { problem: 'it has no input' };
  const unsound = inputProblem(input);
  if (unsound !== null) {
    return { problem: unsound.path === '' ? `its input ${unsound.message}` : `${unsound.path}: ${unsound.message}` };
  }
  const group = wrapped === null ? {} : groupGiven(entry['group']);
  if ('problem' in group) return group;
  if (given === undefined || given === null || given === '') return withDerivedId(input, group, digest);
  if (typeof given !== 'string' && !Number.isSafeInteger(given)) {
    return { problem: 'its item_id is neither a text nor a whole number' };
  }
  const itemId = String(given);
  if (itemId.length > MAX_ITEM_ID_LENGTH) {
    return { problem: `its item_id is longer than ${MAX_ITEM_ID_LENGTH} characters` };
  }
  const unsoundId = textProblem(itemId);
  return unsoundId === null ? { item: { itemId, input, ...group } } : { problem: `its item_id ${unsoundId}` };
}

function withDerivedId(input: ItemInput, group: Pick<NewItem, 'group'>, digest: Digest | null): ItemOrProblem {
  const itemId = derivedItemId(input);
  const isUsable = itemId !== '' && itemId.length <= MAX_ITEM_ID_LENGTH && textProblem(itemId) === null;
  if (isUsable) return { item: { itemId, input, ...group } };
  if (digest !== null) return { item: { itemId: digest(canonicalJson(input)), input, ...group } };
  return {
    problem: `it needs an item_id: none can be derived from its input with 1 to ${MAX_ITEM_ID_LENGTH} characters`,
  };
}

function groupGiven(group: unknown): Pick<NewItem, 'group'> | { readonly problem: string } {
  if (group === undefined || group === null) return {};
  if (typeof group !== 'string' || group === '' || group.length > MAX_GROUP_LENGTH) {
    return { problem: `its group is not a text of 1 to ${MAX_GROUP_LENGTH} characters` };
  }
  const unsound = textProblem(group);
  return unsound === null ? { group } : { problem: `its group ${unsound}` };
}

/**
 * The id of an item that came without one: its values in the order of their names. The same input gives the same id, so
 * that a list sent twice adds nothing; for small inputs, which are the rule, the id is readable.
 */
export function derivedItemId(input: ItemInput): string {
  const names = Object.keys(input).sort();
  const [only] = names;
  if (only !== undefined && names.length === 1) {
    const value = input[only];
    if (typeof value === 'string' || typeof value === 'number') return String(value);
  }
  return JSON.stringify(names.map((name) => [name, input[name]]));
}

const FIELDS: ReadonlySet<string> = new Set(['item_id', 'input', 'group']);

/** Null if the entry is the input itself, which may also have a field called `input`. */
function wrappedInput(entry: Record<string, unknown>): ItemInput | null {
  const input = entry['input'];
  if (!isRecord(input)) return null;
  for (const name of Object.keys(entry)) if (!FIELDS.has(name)) return null;
  return input;
}

function withoutId(entry: Record<string, unknown>): ItemInput {
  const { item_id, ...input } = entry;
  return input;
}
