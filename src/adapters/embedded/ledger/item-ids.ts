import { type ItemInput, isSameInput, type NewItem, type RepeatedItem } from '../../../domain/item.ts';
import { IdFilter } from './id-filter.ts';
import { lastKey, placeOf, rowKey } from './row-key.ts';
import type { Statements } from './statements.ts';

/**
 * Finds the place of an item id in its job. An index over the texts would be the slowest part of an import by far, because
 * each id lands at a random page of it; so ids are kept as hashes, in runs that are only ever appended:
 *
 *   run      the ids of one chunk: a hash table of 2^bits buckets, a row each, written in order
 *   bucket   pairs of 32-bit numbers: the hash of an id, and its place. The text itself is in `items`, and decides
 *
 * Finding an id takes one row per run. Small runs are merged with the next, so that a job has few: each entry is rewritten
 * about once per doubling, until its run has MAX_RUN. Whether an id already exists is first checked in a filter in memory,
 * and in the runs only if that says maybe.
 */
export class ItemIds {
  readonly #sql: Statements;
  readonly #runs = new Map<number, Run[]>();
  /** Most recently used last. */
  readonly #filters = new Map<number, IdFilter>();
  /** Rows read for lack of a filter, by job: once that has cost as much as building one, one is built. */
  readonly #readInstead = new Map<number, number>();

  constructor(sql: Statements) {
    this.#sql = sql;
  }

  /** The place of an id, or null. */
  find(jobNum: number, itemId: string): number | null {
    return this.#lookUp(jobNum, itemId, hashOf(itemId))?.place ?? null;
  }

  /**
   * The items whose id one of the first `jobTotal` items of the job has, or an earlier one of the list. Their `first` is
   * a place in the job, where the new ones of the list come after those that are there.
   */
  known(jobNum: number, jobTotal: number, items: readonly NewItem[]): RepeatedItem[] {
    const filter = this.#filterFor(jobNum, jobTotal, items.length);
    const seen = new Map<string, Found>();
    const known: RepeatedItem[] = [];
    // A list that is sent again is mostly in the same order as before.
    let guess = 0;
    for (const [index, { itemId, input }] of items.entries()) {
      const earlier = seen.get(itemId);
      if (earlier !== undefined) {
        known.push({ index, first: earlier.place, differs: differs(earlier.input, input) });
        continue;
      }
      const stored = this.#storedItem(jobNum, jobTotal, itemId, filter, guess);
      if (stored !== null) {
        known.push({ index, first: stored.place, differs: differs(stored.input, input) });
        guess = stored.place + 1;
      }
      seen.set(itemId, stored ?? { place: jobTotal + index - known.length, input });
    }
    return known;
  }

  #storedItem(
    jobNum: number,
    jobTotal: number,
    itemId: string,
    filter: IdFilter | null,
    guess: number,
  ): Found<string> | null {
    const hash = hashOf(itemId);
    const isNew = filter?.add(hash) ?? false;
    if (isNew || jobTotal === 0) return null;
    const found = this.#at(jobNum, guess, itemId) ?? this.#lookUp(jobNum, itemId, hash);
    return found !== null && found.place < jobTotal ? found : null;
  }

  /** Items that were just appended, the first at `firstPlace`. */
  append(jobNum: number, firstPlace: number, items: readonly { readonly itemId: string }[]): void {
    if (items.length === 0) return;
    const pairs = new Uint32Array(2 * items.length);
    for (const [index, { itemId }] of items.entries()) {
      pairs[2 * index] = hashOf(itemId);
      pairs[2 * index + 1] = firstPlace + index;
    }
    const runs = this.#runsOf(jobNum);
    const merged: Uint32Array[] = [pairs];
    let size = items.length;
    for (let last = runs.at(-1); last && last.size <= size && last.size + size <= MAX_RUN; last = runs.at(-1)) {
      merged.push(...this.#takeOut(jobNum, last));
      size += last.size;
      runs.pop();
    }
    runs.push(this.#write(jobNum, endOf(runs.at(-1)), merged, size));
  }

  forgetJob(jobNum: number): void {
    this.#runs.delete(jobNum);
    this.#filters.delete(jobNum);
    this.#readInstead.delete(jobNum);
  }

  /** Filters stay: they say maybe for what was rolled back, which is not wrong. */
  forget(): void {
    this.#runs.clear();
  }

  /** The item at that place, if it has that id. */
  #at(jobNum: number, place: number, itemId: string): Found<string> | null {
    const row = this.#sql.idAndInput.get(rowKey(jobNum, place));
    return row?.['item_id'] === itemId.toWellFormed() ? { place, input: String(row['input']) } : null;
  }

  #lookUp(jobNum: number, itemId: string, hash: number): Found<string> | null {
    for (const { start, bits } of this.#runsOf(jobNum)) {
      const row = this.#sql.ids.get(rowKey(jobNum, start + bucketOf(hash, bits)));
      if (row === undefined) continue;
      const pairs = pairsOf(row['entries']);
      for (let at = 0; at < pairs.length; at += 2) {
        if (pairs[at] !== hash) continue;
        const found = this.#at(jobNum, pairs[at + 1] ?? 0, itemId);
        if (found !== null) return found;
      }
    }
    return null;
  }

  #runsOf(jobNum: number): Run[] {
    const known = this.#runs.get(jobNum);
    if (known !== undefined) return known;
    const rows = this.#sql.idRunsBetween.all(rowKey(jobNum, 0), lastKey(jobNum)) as unknown as RunRow[];
    const runs = rows.map(({ key, bits, size }) => ({ start: placeOf(key), bits, size }));
    if (this.#runs.size >= MAX_JOBS_KNOWN) this.#runs.clear();
    this.#runs.set(jobNum, runs);
    return runs;
  }

  #takeOut(jobNum: number, run: Run): Uint32Array[] {
    const [from, to] = [rowKey(jobNum, run.start), rowKey(jobNum, endOf(run) - 1)];
    const taken = this.#sql.idsBetween.all(from, to).map((row) => pairsOf(row['entries']));
    this.#sql.deleteIdsBetween.run(from, to);
    this.#sql.deleteIdRunsBetween.run(from, from);
    return taken;
  }

  #write(jobNum: number, start: number, parts: readonly Uint32Array[], size: number): Run {
    const bits = Math.max(0, Math.ceil(Math.log2(size / ENTRIES_PER_BUCKET)));
    const { sorted, ends } = sortIntoBuckets(parts, size, bits);
    let from = 0;
    for (let bucket = 0; bucket < ends.length; bucket += 1) {
      const to = ends[bucket] ?? from;
      if (to > from) {
        const bytes = new Uint8Array(sorted.buffer, from * BYTES_PER_ENTRY, (to - from) * BYTES_PER_ENTRY);
        this.#sql.insertIds.run(rowKey(jobNum, start + bucket), bytes);
      }
      from = to;
    }
    this.#sql.insertIdRun.run(rowKey(jobNum, start), bits, size);
    return { start, bits, size };
  }

  #filterFor(jobNum: number, jobTotal: number, items: number): IdFilter | null {
    const present = this.#filters.get(jobNum);
    if (present !== undefined) {
      this.#filters.delete(jobNum);
      this.#filters.set(jobNum, present);
      return present;
    }
    const read = (this.#readInstead.get(jobNum) ?? 0) + items * this.#runsOf(jobNum).length;
    if (read * ENTRIES_PER_READ < jobTotal) {
      if (this.#readInstead.size >= MAX_JOBS_KNOWN) this.#readInstead.clear();
      this.#readInstead.set(jobNum, read);
      return null;
    }
    this.#readInstead.delete(jobNum);
    return this.#makeFilter(jobNum);
  }

  #makeFilter(jobNum: number): IdFilter {
    const filter = new IdFilter();
    for (const row of this.#sql.idsBetween.iterate(rowKey(jobNum, 0), lastKey(jobNum))) {
      const pairs = pairsOf(row['entries']);
      for (let at = 0; at < pairs.length; at += 2) filter.add(pairs[at] ?? 0);
    }
    this.#filters.set(jobNum, filter);
    for (const oldest of this.#filters.keys()) {
      const bytes = this.#filters.values().reduce((sum, each) => sum + each.bytes, 0);
      if (oldest === jobNum || (this.#filters.size <= MAX_FILTERS && bytes <= MAX_FILTER_BYTES)) break;
      this.#filters.delete(oldest);
    }
    return filter;
  }
}

/** A merge of this many takes a few milliseconds; a job of ten million has some two hundred runs. */
const MAX_RUN = 65_536;
/** Half a kilobyte: a dozen buckets to a page of the database. */
const ENTRIES_PER_BUCKET = 64;
const BYTES_PER_ENTRY = 8;
/** Entries that a filter takes in the time of one read of a bucket. */
const ENTRIES_PER_READ = 100;
const MAX_JOBS_KNOWN = 1000;
const MAX_FILTERS = 8;
const MAX_FILTER_BYTES = 64 * 2 ** 20;

/** An item with a certain id, and its input: as the text that is stored, or as it came. */
interface Found<Input = string | ItemInput> {
  readonly place: number;
  readonly input: Input;
}

/** The same text is the same input; fields in another order are, too. */
function differs(known: string | ItemInput, input: ItemInput): boolean {
  if (typeof known !== 'string') return !isSameInput(known, input);
  return known !== JSON.stringify(input) && !isSameInput(JSON.parse(known) as ItemInput, input);
}

interface Run {
  readonly start: number;
  readonly bits: number;
  readonly size: number;
}

interface RunRow {
  readonly key: number;
  readonly bits: number;
  readonly size: number;
}

function endOf(run: Run | undefined): number {
  return run === undefined ? 0 : run.start + 2 ** run.bits;
}

function bucketOf(hash: number, bits: number): number {
  return bits === 0 ? 0 : hash >>> (32 - bits);
}

/** Rows are read and written on machines that put the low byte first; so do all on which this runs. */
function pairsOf(entries: unknown): Uint32Array {
  const bytes = entries as Uint8Array;
  return new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4);
}

function sortIntoBuckets(parts: readonly Uint32Array[], size: number, bits: number) {
  const places = new Uint32Array(2 ** bits + 1);
  for (const pairs of parts) {
    for (let at = 0; at < pairs.length; at += 2) {
      const bucket = bucketOf(pairs[at] ?? 0, bits) + 1;
      places[bucket] = (places[bucket] ?? 0) + 1;
    }
  }
  for (let bucket = 1; bucket < places.length; bucket += 1) {
    places[bucket] = (places[bucket] ?? 0) + (places[bucket - 1] ?? 0);
  }
  const sorted = new Uint32Array(2 * size);
  for (const pairs of parts) {
    for (let at = 0; at < pairs.length; at += 2) {
      const hash = pairs[at] ?? 0;
      const bucket = bucketOf(hash, bits);
      const place = places[bucket] ?? 0;
      places[bucket] = place + 1;
      sorted[2 * place] = hash;
      sorted[2 * place + 1] = pairs[at + 1] ?? 0;
    }
  }
  // Each place has moved to the end of its bucket.
  return { sorted, ends: places.subarray(0, 2 ** bits) };
}

/** 32 bits are enough: the text decides. MurmurHash3's steps, two characters at a time. */
function hashOf(itemId: string): number {
  let hash = itemId.length;
  for (let at = 0; at < itemId.length; at += 2) {
    // Beyond the end there is NaN, which counts as 0 here.
    let block = itemId.charCodeAt(at) | (itemId.charCodeAt(at + 1) << 16);
    block = Math.imul(block, 0xcc9e2d51);
    block = Math.imul((block << 15) | (block >>> 17), 0x1b873593);
    hash ^= block;
    hash = (Math.imul((hash << 13) | (hash >>> 19), 5) + 0xe6546b64) | 0;
  }
  hash ^= hash >>> 16;
  hash = Math.imul(hash, 0x85ebca6b);
  hash ^= hash >>> 13;
  hash = Math.imul(hash, 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
