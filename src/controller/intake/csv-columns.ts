import type { ColumnMapping } from '../../contract/item-columns.ts';
import type { InputFields } from './input-fields.ts';

/** How the columns of a CSV become fields of the input. */
export interface ColumnRules {
  /** Which column a field is read from; other fields are read from the column of their own name. */
  readonly mapping: ColumnMapping;
  /** The scraper's fields; null if they are unknown, so that every column is a field. */
  readonly input: InputFields | null;
  /** Whether to refuse columns that the scraper does not know, instead of ignoring them. */
  readonly isStrict: boolean;
}

export const COLUMNS_AS_FIELDS: ColumnRules = { mapping: new Map(), input: null, isStrict: false };

export interface ColumnPlan {
  /** Number of cells in a row. */
  readonly width: number;
  readonly fields: readonly { readonly field: string; readonly at: number }[];
  /** Names of the columns that are not used. */
  readonly ignored: readonly string[];
}

/** The bytes are not a list of items; the message is a clause about "it", the list. */
export class UnreadableItems extends Error {
  override name = 'UnreadableItems';
}

const MAX_COLUMNS = 1000;
const ITEM_ID = 'item_id';
const NAMES_SHOWN = 10;

/** Throws UnreadableItems if no row could be used with this header. */
export function planColumns(header: readonly string[], rules: ColumnRules): ColumnPlan {
  if (header.length > MAX_COLUMNS) throw new UnreadableItems(`the header has ${header.length} columns`);
  const names = header.map((name) => name.trim());
  mustBeHeader(names, rules);
  const mapped = mappedFields(names, rules);
  const taken = new Set(mapped.map(({ at }) => at));
  const own: { field: string; at: number }[] = [];
  const ignored: string[] = [];
  for (const [at, name] of names.entries()) {
    if (taken.has(at)) continue;
    if (isField(name, rules)) own.push({ field: name, at });
    else ignored.push(name === '' ? `column ${at + 1}` : name);
  }
  mustBeDistinct(own);
  if (rules.isStrict && ignored.length > 0) {
    throw new UnreadableItems(`${scraperText(rules)} does not know these columns: ${listed(ignored)}`);
  }
  return { width: names.length, fields: [...mapped, ...own], ignored };
}

/** Whether an unmapped column is read under its own name. */
function isField(name: string, { mapping, input }: ColumnRules): boolean {
  if (mapping.has(name)) return false;
  return input === null || !input.isClosed || name === ITEM_ID || input.names.has(name);
}

function mappedFields(names: readonly string[], rules: ColumnRules) {
  return Array.from(rules.mapping, ([field, column]) => {
    const { input } = rules;
    if (input?.isClosed === true && field !== ITEM_ID && !input.names.has(field)) {
      throw new UnreadableItems(
        `columns: ${scraperText(rules)} has no field ${field}. Its fields: ${listed([...input.names])}`,
      );
    }
    const at = names.indexOf(column);
    if (at < 0) throw new UnreadableItems(`it has no column ${column} for ${field}. Its columns: ${listed(names)}`);
    if (names.includes(column, at + 1)) throw new UnreadableItems(`two columns of the header have the name ${column}`);
    return { field, at };
  });
}

function mustBeDistinct(own: readonly { readonly field: string; readonly at: number }[]): void {
  const seen = new Set<string>();
  for (const { field, at } of own) {
    if (field === '') throw new UnreadableItems(`column ${at + 1} of the header has no name`);
    if (seen.has(field)) throw new UnreadableItems(`two columns of the header have the name ${field}`);
    seen.add(field);
  }
}

/** Refuses a first row that is data, and a header without any field of the scraper: every row would be bad. */
function mustBeHeader(names: readonly string[], rules: ColumnRules): void {
  const { mapping, input } = rules;
  if (input === null || input.names.size === 0 || !(input.isClosed || input.required.length > 0)) return;
  const columns = new Set(mapping.values());
  if (names.some((name) => columns.has(name))) return;
  const known = new Set([ITEM_ID, ...input.names].map((name) => name.toLowerCase()));
  if (!names.some((name) => known.has(name.toLowerCase())) && names.some((name) => looksLikeData(name, names, input))) {
    throw new UnreadableItems(
      `it has no header row: its first row (${listed(names)}) looks like data. Add a first row that names the columns; ` +
        `${scraperText(rules)} knows ${listed([...input.names])}`,
    );
  }
  if (mapping.size > 0 || names.some((name) => input.names.has(name))) return;
  throw new UnreadableItems(
    `none of its columns (${listed(names)}) is a field of ${scraperText(rules)} (${listed([...input.names])}). ` +
      `Rename them, or say which column is which field, such as columns=${suggestion(names, input)}`,
  );
}

/** Called only if no cell is the name of a field. */
function looksLikeData(cell: string, cells: readonly string[], { patterns }: InputFields): boolean {
  if (cell === '' || cells.indexOf(cell) !== cells.lastIndexOf(cell)) return true;
  if (NUMERIC.test(cell) || /^https?:\/\//i.test(cell)) return true;
  // A pattern may be as wide as \w+, which matches any name; a name rarely contains a digit.
  return /\d/.test(cell) && patterns.some((pattern) => pattern.test(cell));
}

/** Numbers, dates, amounts and parcel numbers. */
const NUMERIC = /^[\s.,/:#$€£-]*\d[\d\s.,/:#$€£-]*$/;

/** `parid=APN`: a column that differs only in case and punctuation, or else the first. */
function suggestion(names: readonly string[], { names: fields, required }: InputFields): string {
  const bare = (name: string) => name.toLowerCase().replaceAll(/[^\p{L}\p{N}]/gu, '');
  const [first = ''] = [...required, ...fields];
  const others = names.filter((name) => name !== ITEM_ID);
  return `${first}=${others.find((name) => bare(name) === bare(first)) ?? others[0] ?? ''}`;
}

function scraperText({ input }: ColumnRules): string {
  return input === null ? 'the scraper' : `the scraper ${input.scraperId}`;
}

function listed(names: readonly string[]): string {
  const rest = names.length > NAMES_SHOWN ? ', …' : '';
  return `${names.slice(0, NAMES_SHOWN).map(shortened).join(', ')}${rest}`;
}

/** A list without a header may begin with long texts. */
function shortened(name: string): string {
  return name.length <= 60 ? name : `${name.slice(0, 60).toWellFormed()}…`;
}
