import type { Key } from '../dynamo/attributes.ts';

/**
 * The rows of the one table. A job's own two rows are found by its id; everything else by its incarnation, a name
 * that is created with the job: so a job that is deleted and created again under the same id never meets what is left
 * of the former one.
 *
 *   J#<job>              META                what changes seldom: state, policy, index of ids
 *                        HOT                 counters, tally, cursor: changed with every batch
 *   C#<inc>#<chunk>      I#<seq>#<piece>     inputs, of up to a hundred items, as they were added, with depths of found ones
 *                        I#<seq>#R<attempt>#<piece>   the input of one item since it was corrected after that attempt
 *                        U#<seq>             … and their groups, if they have any
 *                        U#<seq>#R<attempt>  … and the group of one item, if it changed with its input
 *                        B#<batch>           a batch in flight, and its lease
 *                        O#<id>              how items ended, and deliveries of those cancelled with them
 *                        D#<id>#<piece>      … where that is much, and an O row names it
 *                        M#<id>              items that came back: deliveries and strikes
 *                        R#                  items that were reopened
 *   P#<inc>              S#<id>, R#<id>      items that are to go out again; S with a strike
 *   G#<inc>              <hash>              a group of failures
 *   W#<inc>              <host>              what the job did at a host
 *   T#<inc>              SEEN                what was seen of the steps of the job's recording
 *   E#<inc>              <mark>#<chunk>      chunks that have, or had, an item that failed with a type, or was skipped
 *   I#<inc>#<shard>      <run>#<part>        item ids (ids/id-index.ts)
 *   NEWS#<shard>         <time>#<id>         news for other processes, for an hour
 *   HOSTS                <host>              a host that asked to be left alone
 *   HOST-SETTINGS        <host>              what operators have set for a host
 *   SITES                <site>              the configuration of a documentation site
 *   S#<kind>#<site>      <name>              a cached page of the site, a recording … (ports/site-rows.ts)
 *   S#<kind>             <site>              sites that have such rows
 *   LINE#<line>          SHARES              what processes have reserved of the limits of a host or a job
 *   RUNS#…, R#…, RU#…, RUN-GARBAGE           scrape runs (runs/run-keys.ts)
 *   JOBS, JOBS#<status>, ACTIVE, GARBAGE     <inc>     directories of jobs
 *
 * A chunk is a key of its own, so that the items of one job are spread over as many partitions as it has hundreds.
 */

/** Items per chunk, and so the most that one batch may have. */
export const CHUNK_ITEMS = 100;

export function chunkOf(seq: number): number {
  return Math.floor(seq / CHUNK_ITEMS);
}

export const META = 'META';
export const HOT = 'HOT';

export function jobPk(jobId: string): string {
  return `J#${jobId}`;
}

export function metaKey(jobId: string): Key {
  return { pk: jobPk(jobId), sk: META };
}

export function hotKey(jobId: string): Key {
  return { pk: jobPk(jobId), sk: HOT };
}

export function chunkPk(inc: string, chunk: number): string {
  return `C#${inc}#${chunk}`;
}

export function inputSk(seq: number, piece: number): string {
  return `I#${padded(seq)}#${padded(piece)}`;
}

/** Input of an item that was corrected after this attempt. Sorted after every row of inputs that may contain the item. */
export function correctedInputSk(seq: number, attempt: number, piece: number): string {
  return `I#${padded(seq)}#R${padded(attempt)}#${padded(piece)}`;
}

/** Sorted after all rows that may contain the input of the item, and before those of later ones. */
export function lastInputSk(seq: number): string {
  return `I#${padded(seq)}#\uffff`;
}

/** Rows of groups begin so. */
export const GROUPS_PREFIX = 'U#';

export function groupsSk(seq: number): string {
  return `${GROUPS_PREFIX}${padded(seq)}`;
}

export function correctedGroupSk(seq: number, attempt: number): string {
  return `${groupsSk(seq)}#R${padded(attempt)}`;
}

export function outcomeSk(id: string): string {
  return `O#${id}`;
}

export function outcomePieceSk(id: string, piece: number): string {
  return `D#${id}#${padded(piece)}`;
}

export function poolPk(inc: string): string {
  return `P#${inc}`;
}

export function groupPk(inc: string): string {
  return `G#${inc}`;
}

/** What the job did at hosts. */
export function seenPk(inc: string): string {
  return `W#${inc}`;
}

export function stepsPk(inc: string): string {
  return `T#${inc}`;
}

/** What was seen of the steps of the job's recording. */
export function stepsKey(inc: string): Key {
  return { pk: stepsPk(inc), sk: 'SEEN' };
}

export function markPk(inc: string): string {
  return `E#${inc}`;
}

export function markSk(mark: string, chunk: number): string {
  return `${mark}#${padded(chunk)}`;
}

export function newsPk(shard: number): string {
  return `NEWS#${shard}`;
}

/** All jobs, in the order in which they were made; those of a status; those that the engine has something to do for. */
export const ALL_JOBS = 'JOBS';
export const ACTIVE_JOBS = 'ACTIVE';
/** What is to be removed, in case its writer dies. */
export const GARBAGE = 'GARBAGE';

/** Pauses of hosts. */
export const PAUSED_HOSTS = 'HOSTS';
export const SITES = 'SITES';
export const HOST_SETTINGS = 'HOST-SETTINGS';

export function lineKey(line: string): Key {
  return { pk: `LINE#${line}`, sk: 'SHARES' };
}

export function jobsOfStatus(status: string): string {
  return `JOBS#${status}`;
}

/** Long enough for any number of items; texts are sorted by character. */
function padded(number: number): string {
  return String(number).padStart(10, '0');
}

/** A batch is found by its own name: a worker that has nothing but a message, or a token, needs no directory. */
export interface BatchName {
  readonly inc: string;
  readonly chunk: number;
  readonly id: string;
}

export function batchIdOf({ inc, chunk, id }: BatchName): string {
  return `${inc}.${chunk}.${id}`;
}

/** Null if the name is not one of ours. */
export function parseBatchId(batchId: string): BatchName | null {
  const found = /^([^.]+)\.(\d+)\.([^.]+)$/.exec(batchId);
  if (found === null) return null;
  const [, inc = '', chunk = '', id = ''] = found;
  return { inc, chunk: Number(chunk), id };
}

export function batchKey({ inc, chunk, id }: BatchName): Key {
  return { pk: chunkPk(inc, chunk), sk: `B#${id}` };
}

/** The name of a row that is a batch. */
export function batchNameOf({ pk, sk }: Key): BatchName {
  const [, inc = '', chunk = ''] = pk.split('#');
  return { inc, chunk: Number(chunk), id: sk.slice(2) };
}

/** Unique per claim; the batch can be read from it, also when it is gone. */
export function tokenOf(batchId: string, claimId: string): string {
  return `${batchId}/${claimId}`;
}

export function batchIdOfToken(token: string): string {
  return token.slice(0, Math.max(0, token.indexOf('/')));
}

export function siteRowsPk(kind: string, site: string): string {
  return `S#${kind}#${site}`;
}

export function sitesWithRowsPk(kind: string): string {
  return `S#${kind}`;
}
