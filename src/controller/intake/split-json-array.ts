import {
  BACKSLASH,
  CLOSE_LIST,
  CLOSE_OBJECT,
  COLON,
  COMMA,
  OPEN_LIST,
  OPEN_OBJECT,
  QUOTE,
} from '../../domain/json-bytes.ts';
import { MAX_RECORD_BYTES } from './split-records.ts';

/**
 * Cuts the bytes of a JSON array into its entries, so that an array of any length is read in memory for one of them. It
 * knows as much of JSON as tells where an entry ends: strings, and how deep the brackets are. Whether an entry makes
 * sense is for JSON.parse to say; one that does not costs no other, as long as its end is certain.
 *
 *   start     before the `[`
 *   first     behind it: an entry, or the `]`
 *   next      behind a comma: an entry
 *   nested    in an object or a list
 *   string    in a text; `escape`: behind a `\` in it
 *   unquoted  behind a text within an entry, where only `,` `:` `}` `]` can stand: anything else shows that a quote is
 *             missing, and from there on inside and outside of texts would be mixed up
 *   scalar    in a number, `true` and the like
 *   after     behind an entry: a comma, or the `]`
 *   end       behind the `]`, where nothing may come
 *   broken    nothing that follows can be told apart: it is not looked at
 */
export type RawEntry =
  | { readonly kind: 'entry'; readonly number: number; readonly bytes: Uint8Array }
  | { readonly kind: 'too-long'; readonly number: number }
  /** The rest is not read. `at` counts bytes from 0. */
  | { readonly kind: 'broken'; readonly number: number; readonly at: number; readonly problem: string };

export class JsonArraySplitter {
  readonly #maxBytes: number;
  #state: State = 'start';
  #depth = 0;
  /** Of the entry that is being read, or was read last; from 1. */
  #number = 0;
  #pieces: Uint8Array[] = [];
  #size = 0;
  /** Bytes of the chunks before this one. */
  #before: number;

  /** `before`: how many bytes were passed over already. */
  constructor({ maxBytes = MAX_RECORD_BYTES, before = 0 } = {}) {
    this.#maxBytes = maxBytes;
    this.#before = before;
  }

  /** Whether it is known not to be an array. */
  get isOther(): boolean {
    return this.#state === 'broken' && this.#number === 0;
  }

  /** Whether there is no use in more bytes. */
  get isBroken(): boolean {
    return this.#state === 'broken';
  }

  /** The entries that end in this chunk. */
  push(chunk: Uint8Array): RawEntry[] {
    const entries: RawEntry[] = [];
    let from = 0;
    for (let at = 0; at < chunk.length && this.#state !== 'broken'; at += 1) {
      const byte = chunk[at] ?? 0;
      switch (this.#state) {
        case 'string':
          if (byte === BACKSLASH) this.#state = 'escape';
          else if (byte === NEWLINE) entries.push(this.#break(at, 'a quote is opened and not closed in its line'));
          else if (byte === QUOTE && this.#depth > 0) this.#state = 'unquoted';
          else if (byte === QUOTE) entries.push(this.#end(chunk.subarray(from, at + 1)));
          break;
        case 'escape':
          this.#state = 'string';
          break;
        case 'unquoted':
          if (isSpace(byte)) break;
          if (byte !== COMMA && byte !== COLON && byte !== CLOSE_OBJECT && byte !== CLOSE_LIST) {
            entries.push(this.#break(at, 'a quote or a comma is missing'));
            break;
          }
          this.#state = 'nested';
          if (this.#goesOut(byte)) entries.push(this.#end(chunk.subarray(from, at + 1)));
          break;
        case 'nested':
          if (byte === QUOTE) this.#state = 'string';
          else if (byte === OPEN_OBJECT || byte === OPEN_LIST) this.#depth += 1;
          else if (this.#goesOut(byte)) entries.push(this.#end(chunk.subarray(from, at + 1)));
          break;
        case 'scalar':
          if (!isSpace(byte) && byte !== COMMA && byte !== CLOSE_LIST) break;
          entries.push(this.#end(chunk.subarray(from, at)));
          this.#behind(byte, at, entries);
          break;
        case 'first':
        case 'next':
          if (isSpace(byte)) break;
          from = at;
          this.#begin(byte, at, entries);
          break;
        default:
          if (!isSpace(byte)) this.#behind(byte, at, entries);
      }
    }
    if (this.#isWithin()) this.#keep(chunk.subarray(from));
    this.#before += chunk.length;
    return entries;
  }

  /** What is wrong with the end of the bytes; null if they end as an array does. */
  last(): RawEntry | null {
    if (this.#state === 'end' || this.#state === 'broken') return null;
    if (this.#state === 'start') {
      this.#state = 'broken';
      return null;
    }
    if (!this.#isWithin()) this.#number += 1;
    return this.#break(0, this.#isWithin() ? 'the bytes end within it' : 'the bytes end before the array is closed');
  }

  #begin(byte: number, at: number, entries: RawEntry[]): void {
    if (byte === CLOSE_LIST && this.#state === 'first') {
      this.#state = 'end';
      return;
    }
    this.#number += 1;
    if (byte === COMMA || byte === CLOSE_LIST || byte === CLOSE_OBJECT || byte === COLON) {
      entries.push(this.#break(at, 'there is no entry where one should begin'));
      return;
    }
    this.#depth = byte === OPEN_OBJECT || byte === OPEN_LIST ? 1 : 0;
    this.#state = this.#depth > 0 ? 'nested' : byte === QUOTE ? 'string' : 'scalar';
  }

  /** A byte between entries, or before or behind all of them. */
  #behind(byte: number, at: number, entries: RawEntry[]): void {
    if (this.#state === 'start') this.#state = byte === OPEN_LIST ? 'first' : 'broken';
    else if (this.#state === 'end') {
      this.#number += 1;
      entries.push(this.#break(at, 'something follows the end of the array'));
    } else if (byte === COMMA) this.#state = 'next';
    else if (byte === CLOSE_LIST) this.#state = 'end';
    else if (!isSpace(byte)) {
      this.#number += 1;
      entries.push(this.#break(at, 'there is no comma before it'));
    }
  }

  #goesOut(byte: number): boolean {
    if (byte !== CLOSE_OBJECT && byte !== CLOSE_LIST) return false;
    this.#depth -= 1;
    return this.#depth === 0;
  }

  #isWithin(): boolean {
    const state = this.#state;
    return state === 'nested' || state === 'string' || state === 'unquoted' || state === 'scalar' || state === 'escape';
  }

  #end(piece: Uint8Array): RawEntry {
    this.#keep(piece);
    this.#state = 'after';
    const number = this.#number;
    const entry: RawEntry =
      this.#size > this.#maxBytes
        ? { kind: 'too-long', number }
        : { kind: 'entry', number, bytes: this.#pieces.length > 1 ? Buffer.concat(this.#pieces) : piece };
    this.#pieces = [];
    this.#size = 0;
    return entry;
  }

  #keep(piece: Uint8Array): void {
    this.#size += piece.length;
    if (this.#size > this.#maxBytes) this.#pieces = [];
    else if (piece.length > 0) this.#pieces.push(piece);
  }

  #break(at: number, problem: string): RawEntry {
    this.#state = 'broken';
    this.#pieces = [];
    return { kind: 'broken', number: this.#number, at: this.#before + at, problem };
  }
}

type State =
  | 'start'
  | 'first'
  | 'next'
  | 'nested'
  | 'string'
  | 'escape'
  | 'unquoted'
  | 'scalar'
  | 'after'
  | 'end'
  | 'broken';

const NEWLINE = 0x0a;

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === NEWLINE || byte === 0x0d || byte === 0x09;
}
