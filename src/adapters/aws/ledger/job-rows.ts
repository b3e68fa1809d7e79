import type { Counts } from '../../../domain/counts.ts';
import { DISCOVERY_COUNTS, type Discovery, NO_DISCOVERY } from '../../../domain/discovery-counts.ts';
import type { JobRecord } from '../../../domain/job.ts';
import type { Progress } from '../../../domain/job-progress.ts';
import type { WaitingFor } from '../../../domain/job-wait.ts';
import { completePolicy } from '../../../domain/policy.ts';
import type { Throttle } from '../../../domain/throttle.ts';
import { countOf, json, jsonOf, maybeText, num, numOf, type Row, text, textOf } from '../dynamo/attributes.ts';
import { decodeRuns, encodeRuns, type RunRef } from '../ids/id-run.ts';
import { HOT, hotKey, META, metaKey } from './keys.ts';
import { usageOfRow } from './usage-rows.ts';

/**
 * A job as stored in the table. What changes with every batch is in a small separate row, because a write costs what the
 * whole row weighs; the rest is in the other. Both carry the same `epoch`, which grows whenever the rarely changed row
 * changes: a reader that sees two different epochs reads again.
 */
export interface JobRows {
  readonly record: JobRecord;
  readonly inc: string;
  readonly epoch: number;
  /** Grows with every dispatch: two concurrent ones cannot both succeed. */
  readonly dispatches: number;
  /** Grows with every change of the hot row. */
  readonly changes: number;
  /** The first item that was never dispatched. */
  readonly cursor: number;
  /** Items that came back and wait to go out again. */
  readonly pooled: number;
  /** Cancelled: what is still in flight no longer counts as to be done. */
  readonly isShut: boolean;
  readonly runs: readonly RunRef[];
}

/** Fields of the hot row that are only ever counted up and down. */
export type HotCount = keyof Counts | 'itemsInFlight' | TallyCount | 'refusals' | 'fenced' | 'pooled' | DiscoveryCount;
type DiscoveryCount = (typeof DISCOVERY_FIELDS)[keyof Discovery];
type TallyCount = 'tallied' | 'talliedBad' | 'missed';

type HotField =
  | 'counts'
  | 'itemsInFlight'
  | 'tally'
  | 'refusals'
  | 'fenced'
  | 'throttle'
  | 'waitingFor'
  | 'usage'
  | 'discovery';
type ColdRecord = Omit<JobRecord, HotField | 'incarnation'>;

export function metaRow({ record, inc, epoch, runs }: JobRows): Row {
  const {
    incarnation: _n,
    counts: _c,
    itemsInFlight: _i,
    tally: _t,
    refusals: _r,
    fenced: _f,
    throttle: _h,
    waitingFor: _w,
    usage: _u,
    discovery: _d,
    ...cold
  } = record;
  const { pk, sk } = metaKey(record.jobId);
  return {
    pk: text(pk),
    sk: text(sk),
    inc: text(inc),
    epoch: num(epoch),
    record: json(cold satisfies ColdRecord),
    runs: text(encodeRuns(runs)),
  };
}

/** The hot row of a new job, without any usage. */
export function hotRow({ record, inc, epoch, dispatches, changes, cursor, pooled, isShut }: JobRows): Row {
  const { counts, tally } = record;
  const { pk, sk } = hotKey(record.jobId);
  return {
    pk: text(pk),
    sk: text(sk),
    inc: text(inc),
    epoch: num(epoch),
    dispatches: num(dispatches),
    changes: num(changes),
    cursor: num(cursor),
    pooled: num(pooled),
    ...(isShut ? { shut: { BOOL: true } } : {}),
    total: num(counts.total),
    queued: num(counts.queued),
    inProgress: num(counts.inProgress),
    success: num(counts.success),
    failed: num(counts.failed),
    skipped: num(counts.skipped),
    cancelled: num(counts.cancelled),
    itemsInFlight: num(record.itemsInFlight),
    tallied: num(tally.finished),
    talliedBad: num(tally.failed),
    streak: num(tally.streak),
    missed: num(tally.missed),
    dry: num(tally.dry),
    ...(tally.stopper === null ? {} : { stopper: text(tally.stopper) }),
    refusals: num(record.refusals),
    fenced: num(record.fenced),
    throttle: json(record.throttle),
    ...(record.waitingFor === undefined ? {} : { waiting: json(record.waitingFor) }),
  };
}

/** Null if one of the two is missing or they do not belong together: then the job is being changed. */
export function jobOfRows(rows: readonly (Row | null)[]): JobRows | null {
  const meta = rows.find((row) => row?.['sk']?.S === META);
  const hot = rows.find((row) => row?.['sk']?.S === HOT);
  if (!meta || !hot || textOf(meta, 'inc') !== textOf(hot, 'inc')) return null;
  const epoch = numOf(meta, 'epoch');
  if (epoch !== numOf(hot, 'epoch')) return null;
  const isShut = hot['shut'] !== undefined;
  const cold = jsonOf<ColdRecord>(meta, 'record');
  const policy = completePolicy(cold.policy);
  const inc = textOf(meta, 'inc');
  const hotPart = isShut ? whenShut(hotFields(hot)) : hotFields(hot);
  return {
    record: { ...cold, policy, incarnation: inc, ...hotPart },
    inc,
    epoch,
    dispatches: countOf(hot, 'dispatches'),
    changes: countOf(hot, 'changes'),
    cursor: countOf(hot, 'cursor'),
    pooled: countOf(hot, 'pooled'),
    isShut,
    runs: decodeRuns(textOf(meta, 'runs')),
  };
}

/**
 * In a cancelled job every item has ended, or is the one that a worker is processing; so the cancelled items follow from
 * the rest, and a cancellation is one flag that need not wait for a moment without settles.
 */
function whenShut(fields: Pick<JobRecord, HotField>): Pick<JobRecord, HotField> {
  const { total, inProgress, success, failed, skipped } = fields.counts;
  const cancelled = total - inProgress - success - failed - skipped;
  return { ...fields, counts: { ...fields.counts, queued: 0, cancelled }, itemsInFlight: inProgress };
}

function hotFields(hot: Row): Pick<JobRecord, HotField> {
  return {
    counts: {
      total: countOf(hot, 'total'),
      queued: countOf(hot, 'queued'),
      inProgress: countOf(hot, 'inProgress'),
      success: countOf(hot, 'success'),
      failed: countOf(hot, 'failed'),
      skipped: countOf(hot, 'skipped'),
      cancelled: countOf(hot, 'cancelled'),
    },
    itemsInFlight: countOf(hot, 'itemsInFlight'),
    tally: {
      finished: countOf(hot, 'tallied'),
      failed: countOf(hot, 'talliedBad'),
      streak: countOf(hot, 'streak'),
      missed: countOf(hot, 'missed'),
      dry: countOf(hot, 'dry'),
      stopper: maybeText(hot, 'stopper'),
    },
    refusals: countOf(hot, 'refusals'),
    fenced: countOf(hot, 'fenced'),
    throttle: jsonOf<Throttle>(hot, 'throttle'),
    ...(hot['waiting'] === undefined ? {} : { waitingFor: jsonOf<WaitingFor>(hot, 'waiting') }),
    usage: usageOfRow(hot),
    ...discoveryOfRow(hot),
  };
}

/** Short, because names are part of what a row weighs; a job in which nothing was found has none of them. */
const DISCOVERY_FIELDS = {
  added: 'fNew',
  duplicates: 'fDup',
  conflicts: 'fDiff',
  tooDeep: 'fDeep',
  overLimit: 'fOver',
  invalid: 'fBad',
} as const satisfies Record<keyof Discovery, string>;

/** What attempts found, as something to add to the row. */
export function discoveryCounts({ discovery }: Pick<Progress, 'discovery'>): Partial<Record<DiscoveryCount, number>> {
  if (discovery === undefined) return {};
  return Object.fromEntries(DISCOVERY_COUNTS.map((name) => [DISCOVERY_FIELDS[name], discovery[name]]));
}

function discoveryOfRow(hot: Row): Pick<JobRecord, 'discovery'> {
  if (!DISCOVERY_COUNTS.some((name) => hot[DISCOVERY_FIELDS[name]] !== undefined)) return {};
  const discovery = { ...NO_DISCOVERY };
  for (const name of DISCOVERY_COUNTS) discovery[name] = countOf(hot, DISCOVERY_FIELDS[name]);
  return { discovery };
}
