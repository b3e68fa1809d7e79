import { isRecord } from '../../../domain/is-record.ts';
import type { ColumnType } from './column-types.ts';
import type { MakeCell } from './row-cells.ts';

/** A value in the form that the library takes. */
export type ParquetCell = string | number | boolean | object;

/** Null if a column of that type cannot represent the value exactly; then it is in the last column, as JSON. */
export const parquetCell: MakeCell<ParquetCell> = (value, type) => fitted(value, type) ?? null;

/** The approximate size of the cell. */
export function weighCell(cell: ParquetCell | null): number {
  if (cell === null) return 0;
  if (typeof cell === 'string') return cell.length;
  if (typeof cell !== 'object') return 8;
  let weight = 8;
  for (const part of Object.values(cell)) weight += weighCell(part);
  return weight;
}

/** Undefined if it does not fit. Null fits everywhere inside a list or a struct. */
function fitted(value: unknown, type: ColumnType): ParquetCell | undefined {
  if (type === 'json') return JSON.stringify(value);
  if (type === 'text') return typeof value === 'string' && value.isWellFormed() ? value : undefined;
  if (type === 'number') return typeof value === 'number' ? value : undefined;
  if (type === 'boolean') return typeof value === 'boolean' ? value : undefined;
  return 'list' in type ? fittedList(value, type.list) : fittedStruct(value, type.struct);
}

function fittedList(value: unknown, type: ColumnType): object | undefined {
  if (!Array.isArray(value)) return undefined;
  const list: (ParquetCell | null)[] = [];
  for (const element of value) {
    const cell = element === null ? null : fitted(element, type);
    if (cell === undefined) return undefined;
    list.push(cell);
  }
  return list;
}

/** Without a prototype: the library reads fields by name, and one may be called `constructor`. */
function fittedStruct(value: unknown, fields: ReadonlyMap<string, ColumnType>): object | undefined {
  if (!isRecord(value)) return undefined;
  const struct: Record<string, ParquetCell | null> = Object.create(null);
  for (const [name, field] of Object.entries(value)) {
    const type = fields.get(name);
    const cell = type === undefined ? undefined : field === null ? null : fitted(field, type);
    if (cell === undefined) return undefined;
    struct[name] = cell;
  }
  return struct;
}
