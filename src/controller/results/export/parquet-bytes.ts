import { ByteWriter, ParquetWriter } from 'hyparquet-writer';
import { writeColumn } from 'hyparquet-writer/src/column.js';
import type { Clock } from '../../../ports/clock.ts';
import type { RowBatch } from '../result-rows.ts';
import type { Column, Table } from './columns.ts';
import { type MakeCell, rowCells } from './row-cells.ts';
import type { ColumnType } from './schema-fields.ts';

/**
 * A row group ends with any of these. Its values are held until they are written, column by column; of a group that was
 * written a few hundred bytes per column are kept for the foot of the file, which is where Parquet has its index. So
 * memory is constant but for that: two megabytes for a million rows of thirty columns. Groups of twice the size would
 * make files a little smaller, and keep the event loop for more than ten milliseconds with a column.
 */
const GROUP_ROWS = 5000;
const GROUP_BYTES = 2 * 2 ** 20;
const GROUP_CELLS = 1_000_000;

const PAGE_BYTES = 2 ** 20;

/**
 * A Parquet file, each piece as soon as it is written. The library would write a whole row group in one go, and keep the
 * event loop for that long: so we hand it one column after the other, and others have their turn in between.
 */
export async function* parquetBytes(
  table: Table,
  batches: AsyncIterable<RowBatch>,
  clock: Pick<Clock, 'turn'>,
): AsyncGenerator<Uint8Array> {
  const writer = new ByteWriter();
  // Statistics would keep the least and the greatest value of every column of every group until the end.
  const file = new ParquetWriter({ writer, schema: schemaOf(table), statistics: false });
  let group = newGroup(table);
  for await (const { rows } of batches) {
    for (const row of rows) {
      addRow(group, rowCells(table, row, parquetCell));
      if (!isFull(group)) continue;
      yield* writeGroup(file, writer, group, clock);
      group = newGroup(table);
    }
  }
  if (group.rows > 0) yield* writeGroup(file, writer, group, clock);
  file.finish();
  yield drain(writer);
}

type Cell = string | number | boolean;

interface Group {
  /** A list per column, null where a row has nothing. */
  readonly columns: readonly (Cell | null)[][];
  rows: number;
  bytes: number;
}

function newGroup(table: Table): Group {
  return { columns: table.columns.map(() => []), rows: 0, bytes: 0 };
}

function addRow(group: Group, cells: readonly (Cell | null)[]): void {
  for (const [place, cell] of cells.entries()) {
    group.columns[place]?.push(cell);
    if (cell !== null) group.bytes += typeof cell === 'string' ? cell.length : 8;
  }
  group.rows += 1;
}

function isFull({ rows, bytes, columns }: Group): boolean {
  return rows >= GROUP_ROWS || bytes >= GROUP_BYTES || rows * columns.length >= GROUP_CELLS;
}

/** What `ParquetWriter.write` does with a row group, with pauses. */
async function* writeGroup(
  file: ParquetWriter,
  writer: ByteWriter,
  group: Group,
  clock: Pick<Clock, 'turn'>,
): AsyncGenerator<Uint8Array> {
  const [root, ...elements] = file.schema;
  if (root === undefined) throw new Error('export: a Parquet schema has a root');
  const chunks: ReturnType<typeof writeColumn>['chunk'][] = [];
  const start = writer.offset;
  for (const [place, element] of elements.entries()) {
    const values = group.columns[place] ?? [];
    const { chunk } = writeColumn({
      writer,
      column: {
        columnName: element.name,
        element,
        schemaPath: [root, element],
        codec: 'SNAPPY',
        compressors: { SNAPPY: file.compressors.SNAPPY },
        stats: false,
        pageSize: PAGE_BYTES,
        columnIndex: false,
        offsetIndex: false,
      },
      pageData: {
        values,
        definitionLevels: values.map((value) => (value === null ? 0 : 1)),
        repetitionLevels: [],
        maxDefinitionLevel: 1,
      },
    });
    chunks.push(chunk);
    yield drain(writer);
    await clock.turn();
  }
  const size = BigInt(writer.offset - start);
  file.row_groups.push({ columns: chunks, total_byte_size: size, num_rows: BigInt(group.rows) });
  file.num_rows += BigInt(group.rows);
}

/** What was written since the last time. The library's own writer for files empties its buffer in the same way. */
function drain(writer: ByteWriter): Uint8Array {
  const bytes = writer.getBytes().slice();
  writer.index = 0;
  return bytes;
}

function schemaOf(table: Table): ParquetWriter['schema'] {
  return [{ name: 'root', num_children: table.columns.length }, ...table.columns.map(elementOf)];
}

function elementOf({ name, type }: Column): ParquetWriter['schema'][number] {
  const repetition_type = 'OPTIONAL';
  if (type === 'number') return { name, repetition_type, type: 'DOUBLE' };
  if (type === 'boolean') return { name, repetition_type, type: 'BOOLEAN' };
  return { name, repetition_type, type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } };
}

const FITS = {
  text: (value) => typeof value === 'string' && value.isWellFormed(),
  number: (value) => typeof value === 'number',
  boolean: (value) => typeof value === 'boolean',
  json: () => true,
} as const satisfies Record<ColumnType, (value: unknown) => boolean>;

const parquetCell: MakeCell<Cell> = (value, type) => {
  if (!FITS[type](value)) return null;
  return type === 'json' ? JSON.stringify(value) : (value as Cell);
};
