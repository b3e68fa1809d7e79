import { EMPTY_TALLY } from '../../../domain/breaker.ts';
import { NO_COUNTS } from '../../../domain/counts.ts';
import type { JobRecord } from '../../../domain/job.ts';
import type { Progress } from '../../../domain/job-progress.ts';
import type { WaitingFor } from '../../../domain/job-wait.ts';
import { NO_USAGE, type Usage } from '../../../domain/usage.ts';
import { json, num, type Row, text } from '../dynamo/attributes.ts';
import type { Condition } from '../dynamo/expressions.ts';
import type { Action } from '../dynamo/table.ts';
import { discoveryCounts, type HotCount, type JobRows } from './job-rows.ts';
import { hotKey } from './keys.ts';
import { usageChange } from './usage-rows.ts';

/**
 * What a change of items does to the hot row, as something that can be added to its content at that time: so batches of
 * one job settle side by side, and writers need not read first.
 *
 * The domain decides what becomes of a job; here it is applied to a job in which everything is zero.
 */
export function hotDelta(effect: (job: Progress) => Progress): HotDelta {
  const after = effect(BLANK);
  const { counts, tally } = after;
  return {
    add: {
      total: counts.total,
      queued: counts.queued,
      inProgress: counts.inProgress,
      success: counts.success,
      failed: counts.failed,
      skipped: counts.skipped,
      cancelled: counts.cancelled,
      itemsInFlight: after.itemsInFlight,
      tallied: tally.finished,
      talliedBad: tally.failed,
      missed: tally.missed,
      refusals: after.refusals,
      ...discoveryCounts(after),
    },
    // Only here does order matter: a write that saw the site work ends the streak, whatever its length.
    streaks: { streak: streakChange(tally.streak), dry: streakChange(tally.dry) },
    stopper: tally.stopper,
    usage: after.usage,
  };
}

interface HotDelta {
  readonly add: Partial<Record<HotCount, number>>;
  readonly streaks: Readonly<Record<'streak' | 'dry', StreakChange>>;
  readonly stopper: string | null;
  /** Under names that the row has, or has room for (`UsagePlaces`). */
  readonly usage: Usage;
}

type StreakChange = { readonly add: number } | { readonly set: number };

function streakChange(streak: number): StreakChange {
  return streak >= UNBROKEN ? { add: streak - UNBROKEN } : { set: streak };
}

/** A streak that no batch could reach: what is still beyond it afterwards was not broken. */
const UNBROKEN = 1e9;

const BLANK: Progress = {
  status: 'in_progress',
  counts: NO_COUNTS,
  itemsInFlight: 0,
  tally: { ...EMPTY_TALLY, streak: UNBROKEN, dry: UNBROKEN },
  refusals: 0,
  usage: NO_USAGE,
};

/** New values for the row; only for fields that no other writer changes at the same time. */
export interface HotSet {
  readonly numbers?: Readonly<Record<string, number>>;
  readonly throttle?: JobRecord['throttle'];
  readonly stopper?: string | null;
  readonly waiting?: WaitingFor | null;
  readonly shut?: true;
  /** Added to, not set. */
  readonly usage?: Usage;
}

interface HotGuard {
  readonly inc: string;
  readonly epoch?: number;
  readonly dispatches?: number;
  readonly changes?: number;
  /** Whether the job must, or must not, be cancelled. */
  readonly shut?: boolean;
  /** The wait that the job must still have; null for none. */
  readonly waiting?: WaitingFor | null;
}

/** The change of the hot row as an action. `changes` grows by one with each. */
export function hotAction(
  jobId: string,
  add: HotDelta['add'],
  set: HotSet,
  guard: HotGuard,
  streaks: Partial<HotDelta['streaks']> = {},
): Action {
  const values: Record<string, Row[string]> = { ':one': num(1) };
  const adds = ['#changes :one'];
  const sets: string[] = [];
  const removes: string[] = [];
  const put = (name: string, value: Row[string]) => {
    values[`:${name}`] = value;
    sets.push(`#${name} = :${name}`);
  };
  const count = (name: string, by: number) => {
    if (by === 0) return;
    values[`:${name}`] = num(by);
    adds.push(`#${name} :${name}`);
  };
  for (const [name, by] of Object.entries(add)) count(name, by);
  for (const [name, change] of Object.entries(streaks)) {
    if ('add' in change) count(name, change.add);
    else put(name, num(change.set));
  }
  for (const [name, value] of Object.entries(set.numbers ?? {})) put(name, num(value));
  if (set.throttle !== undefined) put('throttle', json(set.throttle));
  if (set.shut) put('shut', { BOOL: true });
  if (set.usage !== undefined) {
    const used = usageChange(set.usage);
    for (const [name, value] of Object.entries(used.set)) put(name, value);
    for (const [name, by] of Object.entries(used.add)) count(name, by);
  }
  if (typeof set.stopper === 'string') put('stopper', text(set.stopper));
  if (set.stopper === null) removes.push('#stopper');
  if (set.waiting) put('waiting', json(set.waiting));
  if (set.waiting === null) removes.push('#waiting');
  const change = [
    ...(sets.length > 0 ? [`SET ${sets.join(', ')}`] : []),
    ...(removes.length > 0 ? [`REMOVE ${removes.join(', ')}`] : []),
    `ADD ${adds.join(', ')}`,
  ].join(' ');
  return { update: hotKey(jobId), change, values, when: guardOf(guard) };
}

/** As a delta says, and nothing else. */
export function deltaAction(jobId: string, delta: HotDelta, guard: HotGuard, more: HotSet = {}): Action {
  const stopper = delta.stopper === null ? {} : { stopper: delta.stopper };
  return hotAction(jobId, delta.add, { ...more, ...stopper, usage: delta.usage }, guard, delta.streaks);
}

function guardOf({ inc, epoch, dispatches, changes, shut, waiting }: HotGuard): Condition {
  const terms = ['#inc = :ifInc'];
  const values: Record<string, Row[string]> = { ':ifInc': text(inc) };
  for (const [name, value] of Object.entries({ epoch, dispatches, changes })) {
    if (value === undefined) continue;
    terms.push(`#${name} = :if${name}`);
    values[`:if${name}`] = num(value);
  }
  if (shut !== undefined) terms.push(shut ? 'attribute_exists(#shut)' : 'attribute_not_exists(#shut)');
  if (waiting === null) terms.push('attribute_not_exists(#waiting)');
  else if (waiting !== undefined) {
    terms.push('#waiting = :ifWaiting');
    values[':ifWaiting'] = json(waiting);
  }
  return { expression: terms.join(' AND '), values };
}

/**
 * The fields of the hot row that an event of the job changed: they are set, not added to, because the event decides
 * them.
 */
export function hotSetOf(before: JobRows, after: JobRecord): HotSet {
  const { record } = before;
  const numbers: Record<string, number> = {};
  const put = (name: string, from: number, to: number) => {
    if (from !== to) numbers[name] = to;
  };
  for (const name of Object.keys(NO_COUNTS) as (keyof typeof NO_COUNTS)[]) {
    put(name, record.counts[name], after.counts[name]);
  }
  put('itemsInFlight', record.itemsInFlight, after.itemsInFlight);
  const wait = waitSet(record, after);
  if (after.tally === record.tally) return { numbers, ...wait };
  // Set as a whole, whatever was added to it meanwhile: a tally starts over completely or not at all.
  const { finished: tallied, failed: talliedBad, streak, missed, dry, stopper } = after.tally;
  return { numbers: { ...numbers, tallied, talliedBad, streak, missed, dry }, stopper, ...wait };
}

/** The new wait of a job, if it has another one, or none any more. */
export function waitSet(before: JobRecord, after: JobRecord): Pick<HotSet, 'waiting'> {
  return before.waitingFor === after.waitingFor ? {} : { waiting: after.waitingFor ?? null };
}

/** Guards a new wait, so that none that was set meanwhile is lost. */
export function sameWait(set: Pick<HotSet, 'waiting'>, before: JobRecord): Pick<HotGuard, 'waiting'> {
  return set.waiting === undefined ? {} : { waiting: before.waitingFor ?? null };
}
