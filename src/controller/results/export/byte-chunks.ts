import type { ResultRow, RowBatch } from '../result-rows.ts';

/** Large enough that a chunk costs little, small enough that none blocks the event loop for long. */
const CHUNK_BYTES = 128 * 1024;
const MAX_CHUNK_BYTES = 256 * 1024;

/** A head, then one line per row. */
export async function* textChunks(
  head: string,
  batches: AsyncIterable<RowBatch>,
  lineOf: (row: ResultRow) => string,
): AsyncGenerator<Uint8Array> {
  let text = head;
  for await (const { rows } of batches) {
    for (const row of rows) {
      text += lineOf(row);
      if (text.length < CHUNK_BYTES) continue;
      yield* cut(Buffer.from(text, 'utf8'));
      text = '';
    }
  }
  if (text !== '') yield* cut(Buffer.from(text, 'utf8'));
}

/** The same bytes in chunks of the standard size. */
export async function* evenChunks(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let held: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of pieces) {
    held.push(piece);
    bytes += piece.byteLength;
    if (bytes < CHUNK_BYTES) continue;
    yield* cut(Buffer.concat(held));
    held = [];
    bytes = 0;
  }
  if (bytes > 0) yield* cut(Buffer.concat(held));
}

function* cut(bytes: Uint8Array): Generator<Uint8Array> {
  if (bytes.byteLength <= MAX_CHUNK_BYTES) {
    yield bytes;
    return;
  }
  for (let from = 0; from < bytes.byteLength; from += CHUNK_BYTES) yield bytes.subarray(from, from + CHUNK_BYTES);
}
