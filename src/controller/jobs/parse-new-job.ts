import { newItemSchema, newJobSchema, type ParsedNewJob } from '../../contract/new-job.ts';
import type { FieldError } from '../../contract/problem.ts';
import { isRecord } from '../../domain/is-record.ts';
import { MAX_ITEM_ID_LENGTH, type NewItem } from '../../domain/item.ts';
import { derivedItemId } from '../../domain/item-entry.ts';
import { schemaProblems } from '../../domain/schema-problems.ts';
import { inputProblem, textProblem } from '../../domain/storable-input.ts';

/**
 * Limit for creating a job in one step, during which nothing else happens. A longer request is read as it arrives
 * (`submit-stream.ts`).
 */
export const MAX_INLINE_ITEMS = 10_000;
const TOO_MANY_ITEMS = `at most ${MAX_INLINE_ITEMS} items can be created in one step`;

/** A request that passed every check that needs only the request itself. */
export interface ParsedSubmission {
  readonly wanted: ParsedNewJob;
  readonly items: readonly NewItem[];
  /** The field `recording` as it was sent, not yet checked; undefined for none. */
  readonly recording: unknown;
  /** As it was sent: its digest shows whether a later request is the same. */
  readonly request: unknown;
}

/** The only place where the body of a new job is checked against its schema; all problems are found at once. */
export function parseNewJob(request: unknown): ParsedSubmission | { readonly problems: readonly FieldError[] } {
  const given = isRecord(request) && Array.isArray(request['items']) ? request['items'] : [];
  // Checked before each item is.
  if (given.length > MAX_INLINE_ITEMS) return { problems: [{ path: 'items', message: TOO_MANY_ITEMS }] };
  const parsed = newJobSchema.safeParse(request);
  if (!parsed.success) return { problems: schemaProblems(parsed.error) };
  const wanted = parsed.data;
  const problems: FieldError[] = [];
  if (isRecord(request) && isRecord(request['labels']) && Object.hasOwn(request['labels'], '__proto__')) {
    problems.push({ path: 'labels.__proto__', message: 'cannot be used as the name of a label' });
  }
  // From the original, for the same reason as inputs below.
  const recording = isRecord(request) ? request['recording'] : undefined;
  if (recording !== undefined && wanted.scraper_id !== undefined) {
    problems.push({ path: 'recording', message: 'cannot be combined with scraper_id: the job runs one of them' });
  }
  const items = wanted.items.map((item, index) => {
    // From the original: a parsed record has lost a field called __proto__.
    const made = makeItem({ ...item, input: inputGiven(given[index]) ?? item.input }, index);
    if ('item' in made) return made.item;
    problems.push(...made.problems);
    return { itemId: '', input: {} };
  });
  return problems.length > 0 ? { problems } : { wanted, items, recording, request };
}

/** One item of a request that is read item by item. */
export function parseNewItem(value: unknown, index: number): MadeItem {
  const parsed = newItemSchema.safeParse(value);
  if (parsed.success) return makeItem({ ...parsed.data, input: inputGiven(value) ?? parsed.data.input }, index);
  const problems = schemaProblems(parsed.error).map((problem) => {
    return { ...problem, path: problem.path === '' ? `items.${index}` : `items.${index}.${problem.path}` };
  });
  return { problems };
}

type GivenItem = ParsedNewJob['items'][number];
type MadeItem = { readonly item: NewItem } | { readonly problems: readonly FieldError[] };

/** Its id passed the schema; one that is derived from the input has not been checked yet. */
function makeItem({ item_id: given, input, group }: GivenItem, index: number): MadeItem {
  const unsound = inputProblem(input);
  if (unsound !== null) return { problems: [{ path: inputPath(index, unsound.path), message: unsound.message }] };
  const rest = group === undefined ? { input } : { input, group };
  if (given !== undefined) return { item: { itemId: given, ...rest } };
  const itemId = derivedItemId(input);
  const isUsable = itemId !== '' && itemId.length <= MAX_ITEM_ID_LENGTH && textProblem(itemId) === null;
  if (isUsable) return { item: { itemId, ...rest } };
  const message = `is required: no id of 1 to ${MAX_ITEM_ID_LENGTH} characters can be derived from the input`;
  return { problems: [{ path: `items.${index}.item_id`, message }] };
}

function inputGiven(item: unknown): Record<string, unknown> | null {
  const input = isRecord(item) ? item['input'] : null;
  return isRecord(input) ? input : null;
}

export function inputPath(index: number, field: string): string {
  return field === '' ? `items.${index}.input` : `items.${index}.input.${field}`;
}
