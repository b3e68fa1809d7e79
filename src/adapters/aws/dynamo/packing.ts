import { deflateRawSync, inflateRawSync } from 'node:zlib';

/** A row may have 400 KB, including its names. */
const PIECE_BYTES = 350_000;
/** Inputs and outcomes of one row or one family of rows, before they are packed: what is read is read whole. */
export const MAX_PACKED_JSON = 1_500_000;

/**
 * JSON compressed for rows that are billed by the kilobyte: a hundred similar items take a fifth of their size. Split
 * if it is too large for one row, which only happens for very large inputs.
 */
export function packJson(value: unknown): readonly Uint8Array[] {
  const packed = deflateRawSync(Buffer.from(JSON.stringify(value)));
  if (packed.length <= PIECE_BYTES) return [packed];
  const pieces: Uint8Array[] = [];
  for (let at = 0; at < packed.length; at += PIECE_BYTES) pieces.push(packed.subarray(at, at + PIECE_BYTES));
  return pieces;
}

export function unpackJson<T>(pieces: readonly Uint8Array[]): T {
  const [only = EMPTY] = pieces;
  return JSON.parse(inflateRawSync(pieces.length === 1 ? only : Buffer.concat(pieces)).toString());
}

const EMPTY = new Uint8Array();
