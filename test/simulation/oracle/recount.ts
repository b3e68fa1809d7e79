import type { StoredArtifact } from '../../../src/domain/artifact.ts';
import type { Tally } from '../../../src/domain/breaker.ts';
import type { ReadGroup } from '../../../src/domain/failure-group.ts';
import type { ItemRecord } from '../../../src/domain/item.ts';
import type { JobRecord } from '../../../src/domain/job.ts';
import { failuresByStep } from '../../../src/domain/recording/step-failures.ts';
import type { Ledger, Settlement } from '../../../src/ports/ledger.ts';
import { wrongInput } from './corrections.ts';
import { wrongFinds } from './finds.ts';
import type { Model, ModelItem, ModelJob } from './model.ts';
import { addModelItem, reopenModelItem } from './model.ts';
import { wrongRecovery } from './recoveries.ts';
import { wrongItemUsage, wrongUsage } from './usage.ts';

export interface Snapshot {
  readonly record: JobRecord;
  readonly items: readonly ItemRecord[];
  readonly groups: readonly ReadGroup[];
}

export async function readJob(ledger: Ledger, jobId: string): Promise<Snapshot | null> {
  const record = await ledger.job(jobId);
  if (record === null) return null;
  const items: ItemRecord[] = [];
  let after: string | null = null;
  do {
    const page = await ledger.items(jobId, { status: null, errorType: null }, { after, limit: 1000 });
    items.push(...page.entries);
    after = page.next;
  } while (after !== null);
  return { record, items, groups: await ledger.failureGroups(jobId, 10_000) };
}

/** What the ledger shows of a job, compared with what it must hold. Says what is wrong, or null. */
export function recount(job: ModelJob, { record, items, groups }: Snapshot, model: Model): string | null {
  if (job.isFoggy) undoUnseen(job, items, model);
  return (
    wrongItems(job, items, model) ??
    wrongCounts(job, record, items) ??
    wrongSteps(items, groups) ??
    wrongState(job, record) ??
    wrongRisk(job, record)
  );
}

function wrongItems(job: ModelJob, items: readonly ItemRecord[], model: Model): string | null {
  if (job.isFoggy) for (const added of items.slice(job.items.length)) addModelItem(job, added);
  if (items.length !== job.items.length) return `${items.length} items, and ${job.items.length} were added`;
  const begun = new Set<ModelItem>();
  for (const { lease, items: held } of job.batches.values()) {
    const first = held?.[0];
    if (lease !== null && first !== undefined) begun.add(first);
  }
  for (const actual of items) {
    const item = job.items[actual.seq];
    if (item === undefined) return `there is an item ${actual.seq}`;
    const wrong = wrongInput(model, job, item, actual) ?? wrongItem(job, item, actual, begun.has(item));
    if (wrong !== null) return `item ${item.seq} (${item.itemId}): ${wrong}`;
  }
  if (job.mayRecover > 0 && !job.isFoggy) return `${job.mayRecover} items fewer were recovered than was said`;
  if (job.mayReopen > 0 && !job.isFoggy) return `${job.mayReopen} items fewer were reopened than was said`;
  return null;
}

/** The group by its type: two of one type are not distinguished. What the ledger itself failed has no settlement. */
function mayBeAmong({ reopenedGroups }: ModelJob, { settlement }: ModelItem): boolean {
  if (reopenedGroups === null || settlement?.outcome.kind !== 'failed') return true;
  const { type } = settlement.outcome.failure;
  return reopenedGroups.some((key) => key.startsWith(`${type} `));
}

function wrongItem(job: ModelJob, item: ModelItem, actual: ItemRecord, isBegun: boolean): string | null {
  const { status, group = null } = actual;
  if ((actual.depth ?? null) !== item.depth) return `has depth ${actual.depth}, and was found at ${item.depth}`;
  if (group !== item.group) return `is of group ${group}, and was added to ${item.group}`;
  const isOpen = status === 'pending' || status === 'queued' || status === 'in_progress';
  // A retry and the cancel after it may be committed together, so that no look at the items falls between the two.
  const isCancelledWithJob = status === 'cancelled' && job.status === 'cancelled';
  if (item.final === 'failed' && (isOpen || isCancelledWithJob) && job.mayReopen > 0) {
    job.mayReopen -= 1;
    if (!job.isFoggy && !mayBeAmong(job, item)) return 'was reopened with a group of failures that it is not in';
    reopenModelItem(item);
    if (isCancelledWithJob) item.final = 'cancelled';
  }
  if (job.isFoggy) return believe(item, actual, isOpen);
  if (item.final === 'failed' && status === 'success') {
    const wrong = wrongRecovery(job, item, actual);
    if (wrong !== null) return wrong;
  }
  if (item.final !== null && item.final !== status) return `was ${item.final} and is ${status}`;
  if (item.final === null) {
    if (!isOpen) return `is ${status}, and nobody recorded that`;
    if (isBegun !== (status === 'in_progress')) return `is ${status}, and ${isBegun ? 'a' : 'no'} worker is at it`;
  }
  if (actual.strikes !== item.strikes) return `has ${actual.strikes} strikes, and ${item.strikes} were due`;
  if (actual.deliveries !== item.deliveries)
    return `has ${actual.deliveries} deliveries, and ${item.deliveries} were made`;
  return item.final === null ? wrongOpen(item, actual) : wrongFinal(item, actual);
}

function wrongOpen(item: ModelItem, { artifacts }: ItemRecord): string | null {
  return item.deliveries === 0 && artifacts.length > 0 ? 'has artifacts, and was never delivered' : null;
}

/** After an item is final, nothing of it changes any more. */
function wrongFinal(item: ModelItem, actual: ItemRecord): string | null {
  const { seen } = item;
  // The memory ledger hands out the same arrays as long as nothing changed: no need to look into them.
  if (seen !== null && seen.attempts === actual.attempts && seen.artifacts === actual.artifacts) return null;
  const print = printOf(actual);
  if (seen !== null) return seen.print === print ? null : `its record changed from ${seen.print} to ${print}`;
  const wrong = wrongRecord(item, actual);
  if (wrong !== null) return wrong;
  item.seen = { attempts: actual.attempts, artifacts: actual.artifacts, print };
  return null;
}

function wrongRecord(item: ModelItem, actual: ItemRecord): string | null {
  const { settlement, recovered, final, deliveries } = item;
  if (final === 'cancelled' || recovered !== null) return null;
  const last = actual.attempts.at(-1);
  if (last === undefined) return `is ${final} without an attempt`;
  if (last.end !== final) return `is ${final}, and its last attempt ended as ${last.end}`;
  if (settlement === null) {
    return last.failure?.type === 'poison' && last.attempt === deliveries ? null : 'is not recorded as poison';
  }
  if (last.attempt !== settlement.attempt) return `attempt ${last.attempt} is recorded, not ${settlement.attempt}`;
  const { outcome } = settlement;
  const failed = outcome.kind === 'failed' ? outcome.failure.type : undefined;
  if (last.failure?.type !== failed) return `${last.failure?.type} is recorded, not ${failed}`;
  const wanted = keptBy(settlement);
  if (JSON.stringify(actual.artifacts) !== JSON.stringify(wanted))
    return 'other artifacts are recorded than were settled';
  return wrongItemUsage(item, last.usage);
}

function printOf({ status, attempts, artifacts }: ItemRecord): string {
  const ends = attempts.map(({ attempt, end, failure }) => `${attempt}=${failure?.type ?? end}`);
  return `${status} ${ends.join(',')} ${artifacts.map(({ key, sha256 }) => `${key}:${sha256}`).join(',')}`;
}

function keptBy(settlement: Settlement | null): readonly StoredArtifact[] {
  const outcome = settlement?.outcome;
  return outcome === undefined || outcome.kind === 'skipped' ? [] : (outcome.artifacts ?? []);
}

/**
 * After a crash, an item whose bytes are gone has not ended, and an unanswered retry or recovery may have taken place.
 */
function undoUnseen(job: ModelJob, items: readonly ItemRecord[], { torn, askedToReopen }: Model): void {
  for (const { seq, status } of items) {
    const item = job.items[seq];
    if (item?.final === 'failed' && status !== 'failed' && askedToReopen.has(job.jobId)) reopenModelItem(item);
    const isRecovered = item?.final === 'failed' && status === 'success' && job.recoveries.has(seq);
    if (isRecovered) reopenModelItem(item);
    if ((item?.final !== 'success' && item?.final !== 'failed') || status === item.final) continue;
    const artifacts = item.seen?.artifacts ?? item.recovered?.artifacts ?? keptBy(item.settlement);
    if (artifacts.some(({ key }) => torn.has(key))) reopenModelItem(item);
  }
}

/** In the fog only what was promised counts: what was final stays. */
function believe(item: ModelItem, actual: ItemRecord, isOpen: boolean): string | null {
  if (item.final !== null && item.final !== 'cancelled' && item.final !== actual.status) {
    return `was ${item.final} before the crash and is ${actual.status}`;
  }
  if (item.final === null && !isOpen) {
    item.final = actual.status as ModelItem['final'];
    item.seen = { attempts: actual.attempts, artifacts: actual.artifacts, print: printOf(actual) };
    const last = actual.attempts.at(-1);
    if (last !== undefined && last.failure?.type !== 'poison') item.recorded.add(last.attempt);
  }
  item.strikes = actual.strikes;
  item.deliveries = actual.deliveries;
  item.starts = Math.min(item.starts, actual.deliveries);
  item.kills = Math.min(item.kills, actual.strikes);
  return null;
}

function wrongCounts(job: ModelJob, record: JobRecord, items: readonly ItemRecord[]): string | null {
  const { counts } = record;
  const seen = { pending: 0, queued: 0, in_progress: 0, success: 0, failed: 0, skipped: 0, cancelled: 0 };
  for (const { status } of items) seen[status] += 1;
  const pending =
    counts.total -
    counts.queued -
    counts.inProgress -
    counts.success -
    counts.failed -
    counts.skipped -
    counts.cancelled;
  const told = { pending, ...counts, in_progress: counts.inProgress };
  if (counts.total !== items.length) return `total is ${counts.total}, and there are ${items.length} items`;
  for (const status of Object.keys(seen) as (keyof typeof seen)[]) {
    if (seen[status] !== told[status]) return `${told[status]} items are counted as ${status}, and ${seen[status]} are`;
  }
  if (job.isFoggy) return null;
  const batches = [...job.batches.values()];
  const queued = batches.filter(({ lease }) => lease === null).length;
  if (counts.queued !== queued) return `${counts.queued} batches are queued, and ${queued} were sent out`;
  const held = batches.reduce((sum, { items: unsettled }) => sum + (unsettled?.length ?? 0), 0);
  if (queued === 0 ? record.itemsInFlight !== held : record.itemsInFlight < held + queued) {
    return `${record.itemsInFlight} items are in flight by the record, ${held} in leases and ${queued} batches wait`;
  }
  return null;
}

/** The failures at each step of a recording are those of the items that are failed now. */
function wrongSteps(items: readonly ItemRecord[], groups: readonly ReadGroup[]): string | null {
  const failed = new Map<string | null, number>();
  for (const { status, attempts } of items) {
    if (status !== 'failed') continue;
    const path = attempts.at(-1)?.failure?.step?.path ?? null;
    failed.set(path, (failed.get(path) ?? 0) + 1);
  }
  const { steps, elsewhere } = failuresByStep(groups);
  const told = new Map<string | null, number>(steps.map(({ step, count }) => [step.path, count]));
  if (elsewhere > 0) told.set(null, elsewhere);
  for (const path of new Set([...failed.keys(), ...told.keys()])) {
    const [inFact, counted] = [failed.get(path) ?? 0, told.get(path) ?? 0];
    if (inFact !== counted) return `${counted} failures are counted at step ${path}, and there are ${inFact}`;
  }
  return null;
}

function wrongState(job: ModelJob, record: JobRecord): string | null {
  const used = wrongUsage(job, record);
  if (used !== null || job.isFoggy) return used;
  const finds = wrongFinds(job, record);
  if (finds !== null) return finds;
  if (record.manifest !== null && !job.hasManifest) return 'has a manifest that nobody recorded';
  // Results that were replaced are indexed again, while the old index can still be read.
  if (record.status === 'completed' && record.manifest === null && record.replacedBy === undefined) {
    return 'reads as completed, and has no manifest';
  }
  if (record.status !== job.status) return `is ${record.status}, and must be ${job.status}`;
  if (record.removing !== job.removing) return `is being removed: ${record.removing}, and must be: ${job.removing}`;
  if (record.round !== job.round) return `is in round ${record.round}, and must be in ${job.round}`;
  if (record.circuit.state !== job.circuit) return `its circuit is ${record.circuit.state}, and must be ${job.circuit}`;
  if (record.fenced !== job.fenced) return `${record.fenced} writes were fenced by the record, ${job.fenced} in fact`;
  if (job.hasManifest && record.manifest === null) return 'its manifest is gone';
  // The oracle knows only the type of what stops a job, unless it had to believe the record after a crash.
  const typed = (tally: Tally) => ({ ...tally, stopper: tally.stopper?.split(':')[0] ?? null });
  const [tally, expected] = [typed(record.tally), typed(job.tally)];
  for (const field of ['finished', 'failed', 'streak', 'missed', 'dry', 'stopper'] as const) {
    if (tally[field] !== expected[field]) {
      return `the breaker's tally is ${JSON.stringify(record.tally)}, and must be ${JSON.stringify(job.tally)}`;
    }
  }
  return null;
}

/** No more at risk than the breaker allowed when the last batches went out. */
function wrongRisk(job: ModelJob, { tally, itemsInFlight }: JobRecord): string | null {
  const risked = tally.finished + itemsInFlight;
  const bound = job.riskAllowed;
  job.riskAllowed = null;
  if (bound === null || risked <= bound || risked <= job.risked || job.isFoggy) {
    job.risked = risked;
    return null;
  }
  return `${risked} items are finished or at risk, and the breaker allows ${bound}`;
}
