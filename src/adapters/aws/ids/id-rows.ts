import { atOnce } from '../at-once.ts';
import { bytes, bytesOf, textOf } from '../dynamo/attributes.ts';
import { keyOf, type Table } from '../dynamo/table.ts';
import { partKey, type RunRef, shardKeys } from './id-run.ts';
import { IdTable } from './id-table.ts';

/** A part of a run, as one row. */
export interface RunPart {
  readonly run: RunRef;
  readonly part: number;
}

/** The rows of the runs. Written before anything refers to them, deleted when nothing does any more. */
export class IdRows {
  readonly #table: Table;

  constructor(table: Table) {
    this.#table = table;
  }

  async write(inc: string, run: RunRef, table: IdTable): Promise<void> {
    const cuts = table.cut(run.parts);
    await this.#table.putAll(cuts.map((ids, part) => ({ ...keyOf(partKey(inc, run, part)), ids: bytes(ids) })));
  }

  /** In the order of the parts. Null if any of them is gone. */
  async readParts(inc: string, parts: readonly RunPart[]): Promise<readonly Uint8Array[] | null> {
    const keys = parts.map(({ run, part }) => partKey(inc, run, part));
    const groups = Array.from({ length: Math.ceil(keys.length / KEYS_PER_READ) }, (_, group) =>
      keys.slice(group * KEYS_PER_READ, (group + 1) * KEYS_PER_READ),
    );
    const rows = await atOnce(READS_AT_ONCE, groups, (group) => this.#table.getAll(group));
    const found = rows.flat().filter((row) => row !== null);
    return found.length < parts.length ? null : found.map((row) => bytesOf(row, 'ids'));
  }

  /** In the order of the runs. Null if any of them is gone. */
  async read(inc: string, runs: readonly RunRef[]): Promise<readonly IdTable[] | null> {
    const parts = await this.readParts(inc, runs.flatMap(partsOf));
    if (parts === null) return null;
    let at = 0;
    return runs.map((run) => {
      const table = IdTable.fromParts(parts.slice(at, at + run.parts));
      at += run.parts;
      if (table.entries !== run.to - run.from) {
        throw new Error(`the run of ids ${inc} ${run.id} has ${table.entries} entries of ${run.to - run.from}`);
      }
      return table;
    });
  }

  async delete(inc: string, runs: readonly RunRef[]): Promise<void> {
    await this.#table.removeAll(runs.flatMap(partsOf).map(({ run, part }) => partKey(inc, run, part)));
  }

  /** Includes runs that no list names. */
  async deleteAll(inc: string): Promise<void> {
    await atOnce(SHARDS_DELETED_AT_ONCE, shardKeys(inc), async (pk) => {
      for await (const rows of this.#table.pages({ pk })) {
        await this.#table.removeAll(rows.map((row) => ({ pk, sk: textOf(row, 'sk') })));
      }
    });
  }
}

/** DynamoDB's limit; 100 parts have less than a megabyte. */
const KEYS_PER_READ = 100;
const READS_AT_ONCE = 4;
const SHARDS_DELETED_AT_ONCE = 4;

function partsOf(run: RunRef): readonly RunPart[] {
  return Array.from({ length: run.parts }, (_, part) => ({ run, part }));
}
