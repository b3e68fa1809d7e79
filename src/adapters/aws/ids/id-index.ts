import { hash } from 'node:crypto';
import type { Clock } from '../../../ports/clock.ts';
import { StorageTrouble } from '../../../ports/storage-trouble.ts';
import { atOnce } from '../at-once.ts';
import type { Table } from '../dynamo/table.ts';
import { IdCache } from './id-cache.ts';
import { IdRows, type RunPart } from './id-rows.ts';
import { type IdJob, partOf, partsFor, planMerge, type RunRef } from './id-run.ts';
import { IdTable } from './id-table.ts';

export type { IdJob, RunRef } from './id-run.ts';

export interface IdIndexDeps {
  readonly table: Table;
  readonly clock: Clock;
  /** Limit for all jobs together. */
  readonly maxCacheBytes?: number;
  /** 32 bits. Replaced by tests in which different ids must collide. */
  readonly hashOf?: (inc: string, itemId: string) => number;
}

/** Resolves, for each pair, to whether the item at that place has that id. */
export type ConfirmPlaces = (
  pairs: readonly { readonly seq: number; readonly itemId: string }[],
) => Promise<readonly boolean[]>;

/** A run that was written, and to which nothing refers yet. A caller that cannot know how it ended calls neither. */
interface Appended {
  /** The new list of the job. */
  readonly runs: readonly RunRef[];
  /** The list is in force: what it replaces is deleted. It does no harm if that fails or never happens. */
  committed(): Promise<void>;
  /** The list will certainly never be in force: what was written for it is deleted. */
  lost(): Promise<void>;
}

/**
 * Finds the place of an item id in its job. A row per id would cost more than all the rest of an import, so each
 * addition writes one run: its ids as pairs of a hash and a place, sorted, in few large rows. Runs are merged as they
 * become many; the job's own row lists those that count, and every addition of items changes it in the same transaction
 * as the job's total. A run that is not listed is garbage, does no harm, and is removed with the job.
 *
 * A hash has 32 bits: an answer is a candidate, and the item itself decides. In an import of a million that is about a
 * hundred items looked at in vain, which costs far less than longer hashes would.
 *
 * `moved`: a run is gone, because it was merged since the list was read, or the job was removed. Read the list again.
 */
export class IdIndex {
  readonly #rows: IdRows;
  readonly #clock: Clock;
  readonly #cache: IdCache;
  readonly #hashOf: (inc: string, itemId: string) => number;

  constructor({ table, clock, maxCacheBytes = MAX_CACHE_BYTES, hashOf = saltedHash }: IdIndexDeps) {
    this.#rows = new IdRows(table);
    this.#clock = clock;
    this.#cache = new IdCache(maxCacheBytes);
    this.#hashOf = hashOf;
  }

  get cacheBytes(): number {
    return this.#cache.bytes;
  }

  /** Places that may have the id, for each of the ids. Empty: the job certainly does not have it. */
  async find({ inc, runs }: IdJob, itemIds: readonly string[]): Promise<readonly (readonly number[])[] | 'moved'> {
    const search = new Search(itemIds.map((itemId) => this.#hashOf(inc, itemId)));
    const looks: Look[] = [];
    const unread: RunRef[] = [];
    for (const run of runs) {
      const known = this.#cache.get(inc, run);
      if (known instanceof IdTable) {
        search.in(known);
        continue;
      }
      const asked = search.those((each) => known === null || known.mayHave(each));
      const byPart = Map.groupBy(asked, (at) => partOf(search.hashAt(at), run.parts));
      if (byPart.size === 0) continue;
      if (this.#cache.isWorthReading(inc, run, byPart.size)) unread.push(run);
      else for (const [part, at] of byPart) looks.push({ run, part, asked: at });
    }
    const [hasLooked, hasRead] = await Promise.all([
      this.#lookInto(inc, looks, search),
      atOnce(GROUPS_READ_AT_ONCE, groupsOf(unread), (group) => this.#readInto(inc, group, search)),
    ]);
    return hasLooked && hasRead.every(Boolean) ? search.found : 'moved';
  }

  /** The place of each id; null for those that the job does not have. */
  async locate(
    job: IdJob,
    itemIds: readonly string[],
    confirm: ConfirmPlaces,
  ): Promise<readonly (number | null)[] | 'moved'> {
    const found = await this.find(job, itemIds);
    if (found === 'moved') return 'moved';
    const places = itemIds.map((): number | null => null);
    const pairs = itemIds.flatMap((itemId, at) => (found[at] ?? []).map((seq) => ({ at, seq, itemId })));
    const isThere = pairs.length === 0 ? [] : await confirm(pairs);
    for (const [index, { at, seq }] of pairs.entries()) if (isThere[index] === true) places[at] = seq;
    return places;
  }

  /**
   * Writes a run of these ids, which the job does not have and which all differ; the first is at the place after the
   * last run. It has no effect until the caller has put the returned list into force.
   */
  async append({ inc, runs }: IdJob, itemIds: readonly string[]): Promise<Appended | 'moved'> {
    if (itemIds.length === 0) return { runs, committed: async () => {}, lost: async () => {} };
    const firstSeq = runs.at(-1)?.to ?? 0;
    const plan = planMerge(runs, itemIds.length);
    const older = await this.#tablesOf(inc, plan.merged);
    if (older === 'moved') return 'moved';
    const added = IdTable.of(
      Uint32Array.from(itemIds, (itemId) => this.#hashOf(inc, itemId)),
      firstSeq,
    );
    const table = older.length === 0 ? added : IdTable.merged([...older, added]);
    const run: RunRef = {
      id: shortened(this.#clock.id()),
      from: plan.merged[0]?.from ?? firstSeq,
      to: firstSeq + itemIds.length,
      level: plan.level,
      parts: partsFor(table.entries),
    };
    await this.#rows.write(inc, run, table);
    return {
      runs: [...plan.kept, run],
      committed: async () => {
        this.#cache.put(inc, run, table);
        this.#cache.forget(inc, plan.merged);
        await this.#sweep(inc, plan.merged);
      },
      lost: () => this.#sweep(inc, [run]),
    };
  }

  /** Deletes everything that was ever written for a job that no longer gets items. May be repeated. */
  async remove(inc: string): Promise<void> {
    this.#cache.forgetJob(inc);
    await this.#rows.deleteAll(inc);
  }

  async #lookInto(inc: string, looks: readonly Look[], search: Search): Promise<boolean> {
    const parts = await this.#rows.readParts(inc, looks);
    if (parts === null) return false;
    for (const [index, { asked }] of looks.entries()) {
      search.in(IdTable.fromParts([parts[index] ?? new Uint8Array()]), asked);
    }
    return true;
  }

  async #readInto(inc: string, runs: readonly RunRef[], search: Search): Promise<boolean> {
    const tables = await this.#tablesOf(inc, runs);
    if (tables === 'moved') return false;
    for (const table of tables) search.in(table);
    return true;
  }

  /** From memory if they are cached, and cached otherwise. */
  async #tablesOf(inc: string, runs: readonly RunRef[]): Promise<readonly IdTable[] | 'moved'> {
    const tables = new Map<RunRef, IdTable>();
    for (const run of runs) {
      const known = this.#cache.get(inc, run);
      if (known instanceof IdTable) tables.set(run, known);
    }
    const missing = runs.filter((run) => !tables.has(run));
    const read = await this.#rows.read(inc, missing);
    if (read === null) return 'moved';
    for (const [index, table] of read.entries()) {
      const run = missing[index];
      if (run === undefined) continue;
      tables.set(run, table);
      this.#cache.put(inc, run, table);
    }
    return runs.flatMap((run) => tables.get(run) ?? []);
  }

  async #sweep(inc: string, runs: readonly RunRef[]): Promise<void> {
    try {
      await this.#rows.delete(inc, runs);
    } catch (error) {
      // What is left is garbage, and is removed with the job: no reason to fail an addition that has succeeded.
      if (!(error instanceof StorageTrouble)) throw error;
    }
  }
}

/** A job of eight million as tables, or of 25 million as filters; with more, each addition would read runs again. */
const MAX_CACHE_BYTES = 64 * 2 ** 20;
/** Each of some hundred rows, or one run. */
const GROUPS_READ_AT_ONCE = 4;
const PARTS_PER_GROUP = 100;

/** A part that is read for these ids, given by their positions in the list. */
interface Look extends RunPart {
  readonly asked: readonly number[];
}

/** Hashes that are looked for, and what was found for each. */
class Search {
  readonly #hashes: readonly number[];
  readonly found: readonly number[][];

  constructor(hashes: readonly number[]) {
    this.#hashes = hashes;
    this.found = hashes.map(() => []);
  }

  hashAt(at: number): number {
    return this.#hashes[at] ?? 0;
  }

  those(mayBe: (hash: number) => boolean): readonly number[] {
    return this.#hashes.flatMap((each, at) => (mayBe(each) ? at : []));
  }

  in(table: IdTable, asked: Iterable<number> = this.#hashes.keys()): void {
    for (const at of asked) this.found[at]?.push(...table.seqsOf(this.hashAt(at)));
  }
}

/** Small runs are read together; a large one by itself, so that few of them are in memory twice. */
function groupsOf(runs: readonly RunRef[]): readonly (readonly RunRef[])[] {
  const groups: RunRef[][] = [];
  let parts = Number.POSITIVE_INFINITY;
  for (const run of runs) {
    if (parts + run.parts > PARTS_PER_GROUP) {
      groups.push([]);
      parts = 0;
    }
    groups.at(-1)?.push(run);
    parts += run.parts;
  }
  return groups;
}

/** Salted, so that a user cannot choose ids that all fall into one row. */
function saltedHash(inc: string, itemId: string): number {
  return hash('sha256', `${inc}\n${itemId}`, 'buffer').readUInt32BE(0);
}

/** Ten characters, unique among millions: they are in every row, and in the job's list. */
function shortened(id: string): string {
  return hash('sha256', id, 'base64url').slice(0, 10);
}
