import { isRecord } from '../../../domain/is-record.ts';
import { FILE_KINDS, type ResultRow } from '../result-rows.ts';
import { agree, type ColumnType, type SeenType, settle, typeOf } from './column-types.ts';
import { elementFields, type Fields, schemaFields } from './schema-fields.ts';

/**
 * The columns of a table of results. They are known before the first row is written: the fields of the scraper's
 * schemas, and others that the first rows have. Anything beyond that goes into the last column, `more`, as JSON, so
 * that nothing is lost.
 */
export interface Table {
  readonly columns: readonly Column[];
  /** Positions of the columns for fields of the input and of the data. */
  readonly input: ReadonlyMap<string, number>;
  readonly data: ReadonlyMap<string, number>;
  /** Columns with the paths of pages, by name. */
  readonly pages: ReadonlyMap<string, number>;
  /** Columns of child records; null if rows are items. */
  readonly child: ChildColumns | null;
}

interface ChildColumns {
  /** The column with the place of the record in its list. */
  readonly index: number;
  /** By field of the record. A record that is not an object has a single, unnamed field. */
  readonly places: ReadonlyMap<string, number>;
}

export interface Column {
  readonly name: string;
  readonly type: ColumnType;
}

export interface Schemas {
  readonly input: object;
  readonly output: object | null;
}

export const FIXED_COLUMNS = [
  { name: 'item_id', type: 'text' },
  { name: 'status', type: 'text' },
  { name: 'error_type', type: 'text' },
  { name: 'error_message', type: 'text' },
  { name: 'error_retryable', type: 'boolean' },
  { name: 'requests', type: 'number' },
  { name: 'bytes_up', type: 'number' },
  { name: 'bytes_down', type: 'number' },
] as const satisfies readonly Column[];

const INDEX = { name: 'index', type: 'number' } as const satisfies Column;

/** The last columns but one. */
export const PATH_COLUMNS = FILE_KINDS.map((kind) => ({ name: `${kind}_path`, type: 'text' }) as const);

const MORE = { name: 'more', type: 'text' } as const satisfies Column;

/** A table of a million columns is useless, and every row would pay for each: further fields go into `more`. */
const MAX_FIELDS = 1000;

/** Examines the first rows one by one, and then determines the columns. */
export class TablePlan {
  readonly #input: SeenFields;
  readonly #data: SeenFields;
  readonly #pages = new SeenFields(new Map());
  readonly #child: { readonly field: string; readonly seen: SeenFields } | null;

  /** `explode`: the list whose entries are the rows; null if rows are items. */
  constructor(schemas: Schemas | null, explode: string | null = null) {
    const output = schemas?.output ?? null;
    this.#input = new SeenFields(schemaFields(schemas?.input ?? null));
    this.#data = new SeenFields(explode === null ? schemaFields(output) : scalarFields(output, explode));
    this.#child = explode === null ? null : { field: explode, seen: new SeenFields(elementFields(output, explode)) };
  }

  look({ input, data, child, page_paths: pages }: ResultRow): void {
    this.#input.add(input);
    if (pages !== undefined) this.#pages.add(pages);
    if (isRecord(data)) this.#data.add(data);
    if (child !== undefined) this.#child?.seen.add(childFields(child.value));
  }

  table(): Table {
    const child = this.#child && { field: this.#child.field, fields: this.#child.seen.all() };
    return tableOf({ input: this.#input.all(), data: this.#data.all(), pages: this.#pages.all(), child });
  }
}

/** The fields of a child record; one that is not an object is an unnamed field. */
export function childFields(value: unknown): Readonly<Record<string, unknown>> {
  return isRecord(value) ? value : { '': value };
}

/** The fields of the item that its child records repeat. */
function scalarFields(output: object | null, explode: string): Fields {
  return new Map([...schemaFields(output)].filter(([name, type]) => name !== explode && typeof type === 'string'));
}

/** Fields that are not in the schema, in order of appearance, with the type that fits their values. */
class SeenFields {
  readonly #known: Fields;
  readonly #seen = new Map<string, SeenType | null>();

  constructor(known: Fields) {
    this.#known = known;
  }

  add(values: Readonly<Record<string, unknown>>): void {
    for (const [field, value] of Object.entries(values)) {
      if (this.#known.has(field)) continue;
      const before = this.#seen.get(field);
      if (before === undefined && this.#seen.size >= MAX_FIELDS) continue;
      this.#seen.set(field, agree(before ?? null, typeOf(value)));
    }
  }

  all(): Fields {
    const seen = [...this.#seen].map(([field, type]) => [field, settle(type)] as const);
    return new Map([...this.#known, ...seen].slice(0, MAX_FIELDS));
  }
}

interface TableFields {
  readonly input: Fields;
  readonly data: Fields;
  readonly pages: Fields;
  readonly child: { readonly field: string; readonly fields: Fields } | null;
}

function tableOf({ input, data, pages, child }: TableFields): Table {
  const fixed = child === null ? FIXED_COLUMNS : [...FIXED_COLUMNS, INDEX];
  const names = new TakenNames([...fixed, ...PATH_COLUMNS, MORE]);
  const columns: Column[] = [...fixed];
  const places = {
    input: new Map<string, number>(),
    data: new Map<string, number>(),
    pages: new Map<string, number>(),
  };
  for (const [field, type] of input) {
    places.input.set(field, columns.length);
    columns.push({ name: names.take(`input.${field}`), type });
  }
  for (const [field, type] of data) {
    places.data.set(field, columns.length);
    columns.push({ name: names.take(field, `data.${field}`), type });
  }
  const children = new Map<string, number>();
  for (const [field, type] of child?.fields ?? []) {
    children.set(field, columns.length);
    columns.push({ name: names.take(field === '' ? (child?.field ?? '') : `${child?.field}.${field}`), type });
  }
  for (const [page, type] of pages) {
    places.pages.set(page, columns.length);
    columns.push({ name: names.take(`page_paths.${page}`), type });
  }
  return {
    columns: [...columns, ...PATH_COLUMNS, MORE],
    ...places,
    child: child === null ? null : { index: FIXED_COLUMNS.length, places: children },
  };
}

/**
 * Gives every column a unique name, even after lone surrogates, which no file can contain, are replaced. If none of the
 * preferred names is free, the last one gets a number. (`safeText` never makes two names the same.)
 */
class TakenNames {
  readonly #taken: Set<string>;

  constructor(columns: readonly Column[]) {
    this.#taken = new Set(columns.map(({ name }) => name));
  }

  take(...wanted: readonly [string, ...string[]]): string {
    const names = wanted.map((name) => name.toWellFormed());
    const last = names.at(-1) ?? '';
    let name = names.find((each) => this.#isFree(each));
    for (let number = 2; name === undefined; number += 1) {
      const numbered = `${last}_${number}`;
      if (this.#isFree(numbered)) name = numbered;
    }
    this.#taken.add(name);
    return name;
  }

  #isFree(name: string): boolean {
    return name !== '' && !this.#taken.has(name);
  }
}
