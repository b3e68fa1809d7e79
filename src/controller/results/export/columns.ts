import { isRecord } from '../../../domain/is-record.ts';
import type { ResultRow } from '../result-rows.ts';
import { type ColumnType, schemaFields, typeOf } from './schema-fields.ts';

/**
 * The columns of a table of results. They are known before the first row is written: what the scraper's schemas name,
 * and what else the first rows have. Whatever a row has beyond that goes into the last column, `more`, as JSON, so that
 * nothing is lost.
 */
export interface Table {
  readonly columns: readonly Column[];
  /** The places of the columns that hold fields of the input and of the data. */
  readonly input: ReadonlyMap<string, number>;
  readonly data: ReadonlyMap<string, number>;
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
] as const satisfies readonly Column[];

const MORE = { name: 'more', type: 'text' } as const satisfies Column;

/** A table of a million columns is of no use to anybody, and every row would pay for each: later fields are in `more`. */
export const MAX_FIELDS = 1000;

/** Looks at the first rows, one after the other, and then says what the columns are. */
export class TablePlan {
  readonly #input: SeenFields;
  readonly #data: SeenFields;

  constructor(schemas: Schemas | null) {
    this.#input = new SeenFields(schemaFields(schemas?.input ?? null));
    this.#data = new SeenFields(schemaFields(schemas?.output ?? null));
  }

  look({ input, data }: ResultRow): void {
    this.#input.add(input);
    if (isRecord(data)) this.#data.add(data);
  }

  table(): Table {
    return tableOf(this.#input.all(), this.#data.all());
  }
}

/** Fields that the schema does not know, in the order in which they turn up, with the type on which their values agree. */
class SeenFields {
  readonly #known: Fields;
  readonly #seen = new Map<string, ColumnType | null>();

  constructor(known: Fields) {
    this.#known = known;
  }

  add(values: Readonly<Record<string, unknown>>): void {
    for (const [field, value] of Object.entries(values)) {
      if (this.#known.has(field)) continue;
      const before = this.#seen.get(field);
      if (before === undefined && this.#seen.size >= MAX_FIELDS) continue;
      const type = value === null ? null : typeOf(value);
      this.#seen.set(field, before === undefined || before === null ? type : agreed(before, type));
    }
  }

  all(): Fields {
    const seen = [...this.#seen].map(([field, type]) => [field, type ?? 'json'] as const);
    return new Map([...this.#known, ...seen].slice(0, MAX_FIELDS));
  }
}

function agreed(one: ColumnType, other: ColumnType | null): ColumnType {
  return other === null || other === one ? one : 'json';
}

function tableOf(input: Fields, data: Fields): Table {
  const names = new TakenNames([...FIXED_COLUMNS, MORE]);
  const columns: Column[] = [...FIXED_COLUMNS];
  const places = { input: new Map<string, number>(), data: new Map<string, number>() };
  for (const [field, type] of input) {
    places.input.set(field, columns.length);
    columns.push({ name: names.take(`input.${field}`), type });
  }
  for (const [field, type] of data) {
    places.data.set(field, columns.length);
    columns.push({ name: names.take(field, `data.${field}`), type });
  }
  return { columns: [...columns, MORE], ...places };
}

type Fields = ReadonlyMap<string, ColumnType>;

/**
 * Every column has a name of its own, also once half characters, which no file can hold, are replaced. Where none of the
 * names wanted is free, the last one gets a number. (`safeText` makes no two names the same.)
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
