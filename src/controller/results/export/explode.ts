import { isRecord } from '../../../domain/is-record.ts';
import { type ResultRow, type RowBatch, type RowDeps, rowBatches } from '../result-rows.ts';
import type { Schemas } from './columns.ts';
import { listField, schemaFields } from './schema-fields.ts';

/** One item may have any number of children. */
const BATCH_ROWS = 1000;

/**
 * One row per entry of a list in the data, with the item's own fields that are not nested. An item without entries has
 * no row. A value that is not a list gets a row that says so.
 */
export async function* explodeRows(batches: AsyncIterable<RowBatch>, field: string): AsyncGenerator<RowBatch> {
  for await (const { rows, bytes } of batches) {
    let some: ResultRow[] = [];
    for (const row of rows) {
      for (const child of childRows(row, field)) {
        some.push(child);
        if (some.length < BATCH_ROWS) continue;
        yield { rows: some, bytes: 0 };
        some = [];
      }
    }
    yield { rows: some, bytes };
  }
}

function* childRows(row: ResultRow, field: string): Generator<ResultRow> {
  if (!isRecord(row.data)) {
    if (row.data_problem !== undefined) yield row;
    return;
  }
  const list = fieldOf(row.data, field);
  if (list === null) return;
  const data = Object.fromEntries(
    Object.entries(row.data).filter(([name, value]) => name !== field && isScalar(value)),
  );
  if (!Array.isArray(list)) {
    yield { ...row, data, data_problem: `${field} is not a list` };
    return;
  }
  for (const [index, value] of list.entries()) yield { ...row, data, child: { field, index, value } };
}

function isScalar(value: unknown): boolean {
  return typeof value !== 'object' || value === null;
}

function fieldOf(data: Readonly<Record<string, unknown>>, field: string): unknown {
  return Object.hasOwn(data, field) ? (data[field] ?? null) : null;
}

/** Number of rows examined before a field is refused that is not a list in the scraper's schema. */
const LOOKED_AT = 200;

/**
 * Why a field cannot be exploded; null if it can. The scraper may have changed since the job ran, so the first results
 * count as well.
 */
export async function explodeProblem(
  deps: RowDeps,
  jobId: string,
  field: string,
  schemas: Schemas | null,
): Promise<string | null> {
  const named = schemas?.output ? listField(schemas.output, field) : null;
  if (named !== null && named !== 'other') return null;
  const lists = new Set(schemas?.output ? listNames(schemas.output) : []);
  let results = 0;
  let other: string | null = null;
  for await (const { data, item_id: itemId } of firstRows(deps, jobId)) {
    if (!isRecord(data)) continue;
    results += 1;
    for (const [name, value] of Object.entries(data)) if (Array.isArray(value)) lists.add(name);
    if (lists.has(field)) return null;
    if (fieldOf(data, field) !== null) other ??= itemId;
  }
  const known =
    lists.size === 0 ? 'The data have no lists' : `Lists in the data: ${[...lists].slice(0, 20).join(', ')}`;
  if (named === 'other') return `${field} is not a list. ${known}`;
  if (other !== null) return `${field} is not a list (see item ${other}). ${known}`;
  // Nothing was scraped yet, and no schema says what to expect.
  if (results === 0 && schemaFields(schemas?.output ?? null).size === 0) return null;
  return `there is no list ${field} in the data. ${known}`;
}

async function* firstRows(deps: RowDeps, jobId: string): AsyncGenerator<ResultRow> {
  let left = LOOKED_AT;
  for await (const { rows } of rowBatches(deps, jobId, { status: 'success', errorType: null })) {
    yield* rows.slice(0, left);
    left -= rows.length;
    if (left <= 0) return;
  }
}

function listNames(output: object): readonly string[] {
  return [...schemaFields(output).keys()].filter((name) => {
    const found = listField(output, name);
    return found !== null && found !== 'other';
  });
}
