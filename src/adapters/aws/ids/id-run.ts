import type { Key } from '../dynamo/attributes.ts';

/**
 * The ids of the items at [from, to) of a job, as they were written once. The runs of a job follow one another without
 * a gap; a run never changes, and is replaced by one that covers it and its neighbours.
 */
export interface RunRef {
  /** Unique, so that it can be written before anything refers to it. */
  readonly id: string;
  readonly from: number;
  readonly to: number;
  /** How often its entries have been merged. */
  readonly level: number;
  /** The number of rows it is split into, by hash. */
  readonly parts: number;
}

/** What an id index needs to know about a job. */
export interface IdJob {
  /** Identifies this incarnation of the job: another job with the same id has another one. */
  readonly inc: string;
  readonly runs: readonly RunRef[];
}

/** The list as stored in the job's row, some 25 characters per run: every write of that row pays for them. */
export function encodeRuns(runs: readonly RunRef[]): string {
  return runs.map(({ id, to, level, parts }) => [id, to, level, parts].join(':')).join(',');
}

export function decodeRuns(text: string): readonly RunRef[] {
  let from = 0;
  const runs = text === '' ? [] : text.split(',');
  return runs.map((run) => {
    const [id, to, level, parts] = run.split(':');
    if (!id || !to || !level || !parts) throw new Error(`not a list of id runs: ${text}`);
    const ref = { id, from, to: Number(to), level: Number(level), parts: Number(parts) };
    from = ref.to;
    return ref;
  });
}

/** Runs of one level that become one of the next. With chunks of a thousand an entry is written three times at most. */
const FAN_IN = 16;
/**
 * A merge is made by one call that adds items, and this is the most it may have to write: 3 MB. A job of ten million
 * has 40 runs of such a size and up to 30 smaller ones, whose rows for one id are still one request.
 */
const MAX_MERGED = 400_000;
/**
 * Eight kilobytes: two or three read units for a look into a run. Smaller rows would waste more of the kilobytes that
 * are billed when begun, and each is paid for when it is written and again when it is deleted.
 */
const ENTRIES_PER_PART = 1000;

interface MergePlan {
  readonly kept: readonly RunRef[];
  /** Runs to be merged into the new one. */
  readonly merged: readonly RunRef[];
  readonly level: number;
}

/**
 * Where entries after these runs go: into their own run, or together with the fifteen before them of the same level;
 * and if that makes the sixteenth of the next level, with those too, in the same write.
 */
export function planMerge(runs: readonly RunRef[], added: number): MergePlan {
  let kept = runs.length;
  let entries = added;
  let level = 0;
  for (;;) {
    const neighbours = runs.slice(Math.max(0, kept - FAN_IN + 1), kept);
    const size = neighbours.reduce((sum, { from, to }) => sum + to - from, entries);
    const areAlike = neighbours.length === FAN_IN - 1 && neighbours.every((run) => run.level === level);
    if (!areAlike || size > MAX_MERGED) break;
    kept -= neighbours.length;
    entries = size;
    level += 1;
  }
  return { kept: runs.slice(0, kept), merged: runs.slice(kept), level };
}

export function partsFor(entries: number): number {
  return Math.max(1, Math.ceil(entries / ENTRIES_PER_PART));
}

export function partOf(hash: number, parts: number): number {
  return Math.floor((hash * parts) / 2 ** 32);
}

/** Partition keys among which the rows of a job are spread: a merge would be too much for one in a second. */
const SHARDS = 16;

export function partKey(inc: string, { id }: RunRef, part: number): Key {
  const shard = (id.charCodeAt(id.length - 1) + part) % SHARDS;
  return { pk: shardKey(inc, shard), sk: `${id}#${part}` };
}

/** All partition keys that rows of this index may have. */
export function shardKeys(inc: string): string[] {
  return Array.from({ length: SHARDS }, (_, shard) => shardKey(inc, shard));
}

function shardKey(inc: string, shard: number): string {
  return `I#${inc}#${shard.toString(16)}`;
}
