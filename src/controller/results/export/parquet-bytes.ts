import { ByteWriter, ParquetWriter } from 'hyparquet-writer';
import { writeColumn } from 'hyparquet-writer/src/column.js';
import { encodeNestedValues } from 'hyparquet-writer/src/dremel.js';
import type { Clock } from '../../../ports/clock.ts';
import type { RowBatch } from '../result-rows.ts';
import type { Table } from './columns.ts';
import { type ParquetCell, parquetCell, weighCell } from './parquet-cell.ts';
import { elementsOf, leafPaths, type SchemaNode, schemaRoot } from './parquet-schema.ts';
import { rowCells } from './row-cells.ts';

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
 * A Parquet file, each piece as soon as it is written. The library would write a whole row group at once, and block the
 * event loop for that long: so we give it one column at a time, and let other tasks run in between.
 */
export async function* parquetBytes(
  table: Table,
  batches: AsyncIterable<RowBatch>,
  clock: Pick<Clock, 'turn'>,
): AsyncGenerator<Uint8Array> {
  const writer = new ByteWriter();
  // Statistics would keep the smallest and largest value of every column of every group until the end.
  const root = schemaRoot(table.columns);
  const file = new ParquetWriter({ writer, schema: elementsOf(root), statistics: false });
  let group = newGroup(table);
  for await (const { rows } of batches) {
    for (const row of rows) {
      addRow(group, rowCells(table, row, parquetCell));
      if (!isFull(group)) continue;
      yield* writeGroup(file, root, writer, group, clock);
      group = newGroup(table);
    }
  }
  if (group.rows > 0) yield* writeGroup(file, root, writer, group, clock);
  file.finish();
  yield drain(writer);
}

interface Group {
  /** One list per column, with null for rows without a value. */
  readonly columns: readonly (ParquetCell | null)[][];
  rows: number;
  bytes: number;
}

function newGroup(table: Table): Group {
  return { columns: table.columns.map(() => []), rows: 0, bytes: 0 };
}

function addRow(group: Group, cells: readonly (ParquetCell | null)[]): void {
  for (const [place, cell] of cells.entries()) {
    group.columns[place]?.push(cell);
    group.bytes += weighCell(cell);
  }
  group.rows += 1;
}

function isFull({ rows, bytes, columns }: Group): boolean {
  return rows >= GROUP_ROWS || bytes >= GROUP_BYTES || rows * columns.length >= GROUP_CELLS;
}

/** Does what `ParquetWriter.write` does with a row group, with pauses. */
async function* writeGroup(
  file: ParquetWriter,
  root: SchemaNode,
  writer: ByteWriter,
  group: Group,
  clock: Pick<Clock, 'turn'>,
): AsyncGenerator<Uint8Array> {
  const chunks: ReturnType<typeof writeColumn>['chunk'][] = [];
  const start = writer.offset;
  for (const [place, node] of root.children.entries()) {
    const values = group.columns[place] ?? [];
    for (const path of leafPaths(node, [root])) {
      const schemaPath = path.map(({ element }) => element);
      const { chunk } = writeColumn({
        writer,
        column: {
          columnName: schemaPath
            .slice(1)
            .map(({ name }) => name)
            .join('.'),
          element: schemaPath.at(-1) ?? root.element,
          schemaPath,
          codec: 'SNAPPY',
          compressors: { SNAPPY: file.compressors.SNAPPY },
          stats: false,
          pageSize: PAGE_BYTES,
          columnIndex: false,
          offsetIndex: false,
        },
        pageData: encodeNestedValues([...path], values),
      });
      chunks.push(chunk);
      yield drain(writer);
      await clock.turn();
    }
  }
  const size = BigInt(writer.offset - start);
  file.row_groups.push({ columns: chunks, total_byte_size: size, num_rows: BigInt(group.rows) });
  file.num_rows += BigInt(group.rows);
}

/** The bytes written since the last call. The library's own file writer empties its buffer in the same way. */
function drain(writer: ByteWriter): Uint8Array {
  const bytes = writer.getBytes().slice();
  writer.index = 0;
  return bytes;
}
