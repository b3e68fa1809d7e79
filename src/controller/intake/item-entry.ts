import { isRecord } from '../../domain/is-record.ts';
import { type ItemInput, MAX_ITEM_ID_LENGTH, type NewItem } from '../../domain/item.ts';
import { inputProblem, textProblem } from '../../domain/storable-input.ts';

/** The item of an entry in a list: `{"item_id": …, "input": {…}}`, or the input with the id as one of its fields. */
export function itemOfEntry(entry: unknown): { readonly item: NewItem } | { readonly problem: string } {
  if (!isRecord(entry)) return { problem: 'it is not an object' };
  const given = entry['item_id'];
  const wrapped = wrappedInput(entry);
  const input = wrapped ?? withoutId(entry);
  if (wrapped === null && Object.keys(input).length === 0) return { problem: 'it has no input' };
  const unsound = inputProblem(input);
  if (unsound !== null) {
    return { problem: unsound.path === '' ? `its input ${unsound.message}` : `${unsound.path}: ${unsound.message}` };
  }
  if (given === undefined || given === null || given === '') return withDerivedId(input);
  if (typeof given !== 'string' && !Number.isSafeInteger(given)) {
    return { problem: 'its item_id is neither a text nor a whole number' };
  }
  const itemId = String(given);
  if (itemId.length > MAX_ITEM_ID_LENGTH) {
    return { problem: `its item_id is longer than ${MAX_ITEM_ID_LENGTH} characters` };
  }
  const unsoundId = textProblem(itemId);
  return unsoundId === null ? { item: { itemId, input } } : { problem: `its item_id ${unsoundId}` };
}

function withDerivedId(input: ItemInput): { readonly item: NewItem } | { readonly problem: string } {
  const itemId = derivedItemId(input);
  const isUsable = itemId !== '' && itemId.length <= MAX_ITEM_ID_LENGTH && textProblem(itemId) === null;
  if (isUsable) return { item: { itemId, input } };
  return {
    problem: `it needs an item_id: none can be derived from its input with 1 to ${MAX_ITEM_ID_LENGTH} characters`,
  };
}

/**
 * The id of an item that came without one: its values in the order of their names. The same input gives the same id, so
 * that a list sent twice is one list; it is readable where inputs are small, which they are.
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

/** Null where the entry is the input itself, of which a field may be called `input` too. */
function wrappedInput(entry: Record<string, unknown>): ItemInput | null {
  const input = entry['input'];
  if (!isRecord(input)) return null;
  for (const name of Object.keys(entry)) if (name !== 'input' && name !== 'item_id') return null;
  return input;
}

function withoutId(entry: Record<string, unknown>): ItemInput {
  const { item_id, ...input } = entry;
  return input;
}
