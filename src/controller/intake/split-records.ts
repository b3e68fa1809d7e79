/**
 * Splits bytes into lines, or into the records of a CSV file, whose quoted fields may contain line breaks. It keeps one
 * record at a time and visits every byte once, whatever the bytes are: one that is too long is reported, and the next
 * begins after its line.
 * The fields of a record are read by csv-parse (`csv-records.ts`). It does not find the records as well, because it
 * does not recover: after a record over its size limit it drops the rest of the file, and a wrongly closed quote
 * silently swallows lines.
 */
export type RawRecord =
  | { readonly kind: 'record'; readonly line: number; readonly bytes: Uint8Array }
  | { readonly kind: 'too-long'; readonly line: number; readonly lastLine: number }
  /** A quoted field ran over several lines without a proper end: the file ended, or text follows the closing quote. */
  | { readonly kind: 'open-quote'; readonly line: number; readonly lastLine: number };

/** More than any line of items has. */
export const MAX_RECORD_BYTES = 2 ** 20;

export class RecordSplitter {
  /** Null if quotes have no meaning. */
  readonly #delimiter: number | null;
  readonly #maxBytes: number;
  #pieces: Uint8Array[] = [];
  #size = 0;
  #field: FieldState = 'start';
  #isTooLong = false;
  /** Something follows a closing quote, which may have been meant to open another field. */
  #isMangled = false;
  #line = 1;
  #firstLine = 1;

  constructor(delimiter: number | null, maxBytes = MAX_RECORD_BYTES) {
    this.#delimiter = delimiter;
    this.#maxBytes = maxBytes;
  }

  /** The records that end in this chunk, without their line breaks. */
  push(chunk: Uint8Array): RawRecord[] {
    const records: RawRecord[] = [];
    let from = 0;
    for (let at = 0; at < chunk.length; at += 1) {
      if (this.#delimiter === null) {
        // Native search: lines of JSON are long, and only their ends matter.
        at = chunk.indexOf(NEWLINE, at);
        if (at < 0) break;
      }
      const byte = chunk[at];
      if (byte === NEWLINE) {
        this.#line += 1;
        if (this.#delimiter === null && at === from && this.#size === 0) {
          // Nothing between two line breaks: a megabyte of them is not a million records.
          this.#firstLine = this.#line;
          from = at + 1;
        } else if (this.#field !== 'quoted' || this.#isTooLong) {
          records.push(this.#end(chunk.subarray(from, at), this.#line - 1));
          from = at + 1;
        }
      } else if (this.#delimiter !== null) {
        const next = nextField(this.#field, byte, this.#delimiter);
        if (this.#field === 'quote-in-quoted' && next === 'plain' && byte !== RETURN) this.#isMangled = true;
        this.#field = next;
      }
    }
    this.#keep(chunk.subarray(from));
    return records;
  }

  /** What is left at the end of the bytes. */
  last(): RawRecord | null {
    if (this.#size === 0 && !this.#isTooLong) return null;
    if (this.#field === 'quoted' && !this.#isTooLong) {
      return { kind: 'open-quote', line: this.#firstLine, lastLine: this.#line };
    }
    return this.#end(new Uint8Array(), this.#line);
  }

  #end(piece: Uint8Array, lastLine: number): RawRecord {
    this.#keep(piece);
    const line = this.#firstLine;
    const record = this.#recordOf(line, lastLine);
    this.#pieces = [];
    this.#size = 0;
    this.#field = 'start';
    this.#isTooLong = false;
    this.#isMangled = false;
    this.#firstLine = this.#line;
    return record;
  }

  #recordOf(line: number, lastLine: number): RawRecord {
    if (this.#isTooLong) return { kind: 'too-long', line, lastLine };
    // Within a single line nothing can be lost.
    if (this.#isMangled && lastLine > line) return { kind: 'open-quote', line, lastLine };
    return { kind: 'record', line, bytes: joined(this.#pieces) };
  }

  #keep(piece: Uint8Array): void {
    if (this.#isTooLong || piece.length === 0) return;
    this.#size += piece.length;
    if (this.#size > this.#maxBytes) {
      this.#isTooLong = true;
      this.#pieces = [];
    } else this.#pieces.push(piece);
  }
}

const NEWLINE = 0x0a;
const RETURN = 0x0d;
const QUOTE = 0x22;

/** As csv-parse reads it: a quote opens only at the start of a field, and a doubled quote is one quote. */
function nextField(field: FieldState, byte: number | undefined, delimiter: number): FieldState {
  switch (field) {
    case 'quoted':
      return byte === QUOTE ? 'quote-in-quoted' : 'quoted';
    case 'quote-in-quoted':
      if (byte === QUOTE) return 'quoted';
      return byte === delimiter ? 'start' : 'plain';
    case 'start':
      if (byte === QUOTE) return 'quoted';
      return byte === delimiter || byte === RETURN ? 'start' : 'plain';
    case 'plain':
      return byte === delimiter ? 'start' : 'plain';
  }
}

type FieldState = 'start' | 'plain' | 'quoted' | 'quote-in-quoted';

function joined(pieces: readonly Uint8Array[]): Uint8Array {
  const [only] = pieces;
  return pieces.length === 1 && only !== undefined ? only : Buffer.concat(pieces);
}
