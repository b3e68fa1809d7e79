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
 * Cuts the bytes of a list `[ … ]` into its entries, or those of a request `{"scraper_id": …, "items": [ … ], …}` into
 * its fields and, where `items` is a list, into the entries of that. So any number of items is read in memory for one of
 * them. It knows as much of JSON as tells where a value ends; whether the value makes sense is for JSON.parse to say. An
 * entry that does not costs no other, as long as its end is certain. What is let pass is JSON if every piece of it is.
 *
 *   start                 before the `{` or the `[`
 *   first-name, name      after the `{`, or after a comma: the name of a field
 *   colon, value          after the name; after the colon
 *   after-value           a comma, or the `}`
 *   first-entry, entry    after the `[`, or after a comma in it
 *   after-entry           a comma, or the `]`
 *   end                   after the last bracket, where nothing but space may follow
 *   broken                no sense can be made of what follows
 *
 * Within a name, a value or an entry, `#inside` says which, and `#scan` how its end is found:
 *
 *   nested                in an object or a list
 *   string, escape        in a text; after a `\` in it
 *   unquoted              after a text within a value, where only `,` `:` `}` `]` can stand: anything else shows that a
 *                         quote is missing, and from there on inside and outside of texts would be mixed up
 *   scalar                in a number, `true` and the like
 */
export type JsonPart =
  | { readonly kind: 'field'; readonly name: string; readonly bytes: Uint8Array }
  | { readonly kind: 'entry'; readonly index: number; readonly bytes: Uint8Array }
  /** An entry that is too large. */
  | { readonly kind: 'too-long'; readonly index: number }
  | BrokenJson;

/** `at` is a 0-based byte position, and `index` the number of entries before it. Nothing after it is read. */
export interface BrokenJson {
  readonly kind: 'broken';
  readonly index: number;
  readonly at: number;
  readonly problem: string;
}

export function brokenText({ at, problem }: BrokenJson): string {
  return `${problem} (byte ${at})`;
}

/** More than all fields except the items can need. */
export const MAX_FIELDS_BYTES = 2 ** 20;

export class JsonSplitter {
  readonly #shape: 'list' | 'request';
  readonly #maxEntryBytes: number;
  readonly #listName: string;
  #state: State = 'start';
  #inside: 'name' | 'value' | 'entry' | null = null;
  #scan: 'nested' | 'string' | 'escape' | 'unquoted' | 'scalar' = 'scalar';
  #depth = 0;
  #pieces: Uint8Array[] = [];
  #size = 0;
  #name = '';
  readonly #names = new Set<string>();
  #fieldsBytes = 0;
  #entries = 0;
  #hasBegun = false;
  /** Bytes in the chunks before this one. */
  #before: number;

  /** `before`: how many bytes were already skipped. `listName`: the field of a request that is read entry by entry. */
  constructor(shape: 'list' | 'request', { maxEntryBytes = MAX_RECORD_BYTES, before = 0, listName = 'items' } = {}) {
    this.#shape = shape;
    this.#maxEntryBytes = maxEntryBytes;
    this.#listName = listName;
    this.#before = before;
  }

  /** Whether further bytes are useless. */
  get isBroken(): boolean {
    return this.#state === 'broken';
  }

  /** Whether it is neither a list nor a request, from its first byte on. */
  get isOther(): boolean {
    return this.isBroken && !this.#hasBegun;
  }

  /** The fields and entries that end in this chunk. */
  push(chunk: Uint8Array): JsonPart[] {
    const parts: JsonPart[] = [];
    let from = 0;
    for (let at = 0; at < chunk.length && this.#state !== 'broken'; at += 1) {
      const byte = chunk[at] ?? 0;
      if (this.#inside === null) {
        if (isSpace(byte)) continue;
        from = at;
        this.#between(byte, at, parts);
        continue;
      }
      const end = this.#scanned(byte, at);
      if (end === null) continue;
      if (typeof end === 'string') parts.push(this.#broken(at, end));
      else {
        this.#ended(chunk.subarray(from, end), at, parts);
        // A number ends at the byte that follows it, which must still be examined.
        at = end - 1;
      }
    }
    if (this.#inside !== null && this.#state !== 'broken') this.#keep(chunk.subarray(from), chunk.length, parts);
    this.#before += chunk.length;
    return parts;
  }

  /** What is wrong with the end of the bytes; null if they end properly. */
  last(): BrokenJson | null {
    if (this.#state === 'end' || this.#state === 'broken') return null;
    return this.#broken(0, `the bytes end before the ${this.#shape} does`);
  }

  /** The end (exclusive) of the value being read, if this byte shows it; a string if it cannot end here. */
  #scanned(byte: number, at: number): number | string | null {
    switch (this.#scan) {
      case 'string':
        if (byte === BACKSLASH) this.#scan = 'escape';
        else if (byte === NEWLINE) return 'a quote is opened and not closed in its line';
        else if (byte === QUOTE) {
          if (this.#depth === 0) return at + 1;
          this.#scan = 'unquoted';
        }
        return null;
      case 'escape':
        this.#scan = 'string';
        return null;
      case 'unquoted':
        if (isSpace(byte)) return null;
        if (beginsValue(byte)) return 'a quote or a comma is missing';
        this.#scan = 'nested';
        return this.#goesOut(byte) ? at + 1 : null;
      case 'nested':
        if (byte === QUOTE) this.#scan = 'string';
        else if (byte === OPEN_OBJECT || byte === OPEN_LIST) this.#depth += 1;
        return this.#goesOut(byte) ? at + 1 : null;
      case 'scalar':
        return isSpace(byte) || byte === COMMA || byte === (this.#inside === 'entry' ? CLOSE_LIST : CLOSE_OBJECT)
          ? at
          : null;
    }
  }

  #goesOut(byte: number): boolean {
    if (byte !== CLOSE_OBJECT && byte !== CLOSE_LIST) return false;
    this.#depth -= 1;
    return this.#depth === 0;
  }

  /** A byte that belongs to the list or the request itself, or begins something in it. */
  #between(byte: number, at: number, parts: JsonPart[]): void {
    const next = this.#next(byte);
    if (next === null) {
      parts.push(this.#broken(at, WANTED[this.#state]));
      return;
    }
    this.#hasBegun = true;
    if (typeof next === 'string') this.#state = next;
    else this.#begin(next.inside, byte);
  }

  #next(byte: number): State | { readonly inside: 'name' | 'value' | 'entry' } | null {
    const afterList = this.#shape === 'list' ? 'end' : 'after-value';
    switch (this.#state) {
      case 'start':
        if (this.#shape === 'list') return byte === OPEN_LIST ? 'first-entry' : null;
        return byte === OPEN_OBJECT ? 'first-name' : null;
      case 'first-name':
        if (byte === CLOSE_OBJECT) return 'end';
        return byte === QUOTE ? { inside: 'name' } : null;
      case 'name':
        return byte === QUOTE ? { inside: 'name' } : null;
      case 'colon':
        return byte === COLON ? 'value' : null;
      case 'value':
        if (this.#name === this.#listName && byte === OPEN_LIST) return 'first-entry';
        return beginsValue(byte) ? { inside: 'value' } : null;
      case 'after-value':
        if (byte === CLOSE_OBJECT) return 'end';
        return byte === COMMA ? 'name' : null;
      case 'first-entry':
        if (byte === CLOSE_LIST) return afterList;
        return beginsValue(byte) ? { inside: 'entry' } : null;
      case 'entry':
        return beginsValue(byte) ? { inside: 'entry' } : null;
      case 'after-entry':
        if (byte === CLOSE_LIST) return afterList;
        return byte === COMMA ? 'entry' : null;
      default:
        return null;
    }
  }

  #begin(inside: 'name' | 'value' | 'entry', byte: number): void {
    this.#inside = inside;
    this.#depth = byte === OPEN_OBJECT || byte === OPEN_LIST ? 1 : 0;
    this.#scan = byte === QUOTE ? 'string' : this.#depth > 0 ? 'nested' : 'scalar';
  }

  #ended(piece: Uint8Array, at: number, parts: JsonPart[]): void {
    this.#keep(piece, at, parts);
    if (this.isBroken) return;
    const [only = piece] = this.#pieces;
    const bytes = this.#pieces.length > 1 ? Buffer.concat(this.#pieces) : only;
    const isTooLong = this.#size > this.#maxEntryBytes;
    const inside = this.#inside;
    this.#pieces = [];
    this.#size = 0;
    this.#inside = null;
    if (inside === 'name') this.#named(bytes, at, parts);
    else if (inside === 'value') {
      this.#state = 'after-value';
      parts.push({ kind: 'field', name: this.#name, bytes });
    } else {
      this.#state = 'after-entry';
      const index = this.#entries;
      this.#entries += 1;
      parts.push(isTooLong ? { kind: 'too-long', index } : { kind: 'entry', index, bytes });
    }
  }

  /** If a field is given twice, choosing one would be a guess. */
  #named(bytes: Uint8Array, at: number, parts: JsonPart[]): void {
    try {
      this.#name = String(JSON.parse(Buffer.from(bytes).toString('utf8')));
    } catch {
      parts.push(this.#broken(at, 'the name of a field is not valid JSON'));
      return;
    }
    if (this.#names.has(this.#name)) parts.push(this.#broken(at, `the field ${this.#name} is given twice`));
    else this.#state = 'colon';
    this.#names.add(this.#name);
  }

  #keep(piece: Uint8Array, at: number, parts: JsonPart[]): void {
    this.#size += piece.length;
    if (this.#inside !== 'entry') {
      this.#fieldsBytes += piece.length;
      if (this.#fieldsBytes > MAX_FIELDS_BYTES) {
        parts.push(
          this.#broken(at, `the fields other than ${this.#listName} have more than ${MAX_FIELDS_BYTES / 2 ** 20} MiB`),
        );
        return;
      }
    }
    if (this.#size > this.#maxEntryBytes) this.#pieces = [];
    else if (piece.length > 0) this.#pieces.push(piece);
  }

  #broken(at: number, problem: string): BrokenJson {
    this.#state = 'broken';
    this.#pieces = [];
    return { kind: 'broken', index: this.#entries, at: this.#before + at, problem };
  }
}

/** What was expected where something else was found. */
const WANTED = {
  start: 'the request is not a JSON object',
  'first-name': 'a field must begin with its name, in quotes',
  name: 'a field must begin with its name, in quotes',
  colon: 'a colon must follow the name of a field',
  value: 'a value must follow the colon',
  'after-value': 'a comma or } must follow a field',
  'first-entry': 'an item, or ], must follow the [',
  entry: 'an item must follow the comma',
  'after-entry': 'a comma or ] must follow an item',
  end: 'something follows the end',
  broken: '',
} as const;

type State = keyof typeof WANTED;

const NEWLINE = 0x0a;

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === NEWLINE || byte === 0x0d || byte === 0x09;
}

function beginsValue(byte: number): boolean {
  return byte !== COMMA && byte !== COLON && byte !== CLOSE_LIST && byte !== CLOSE_OBJECT;
}
