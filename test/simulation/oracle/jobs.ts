import { isRefusal, type JobEvent, type JobRecord } from '../../../src/domain/job.ts';
import type { JobStatus } from '../../../src/domain/job-steps.ts';
import { mustTrip } from './breaker.ts';
import { sawKnown } from './corrections.ts';
import { findsOf } from './finds.ts';
import { addModelItem, dropBatch, type Model, type ModelJob, NO_TALLY, newModelJob } from './model.ts';
import type { SeenCall } from './seen-call.ts';
import { addUsed, isUsedUp, usedBy } from './usage.ts';

type JobCall = Extract<SeenCall, { method: 'createJob' | 'changeJob' | 'removeJob' | 'addItems' | 'reopen' }>;

/** What became of a job must follow from what was asked and from the state it was in. */
export class JobOracle {
  readonly #model: Model;
  readonly #fail: (message: string) => void;
  /** Jobs whose index was recorded just now, and must be read. */
  readonly newManifests = new Set<string>();

  /** Called for every job that went away. */
  readonly onGone: (jobId: string) => void;

  constructor(model: Model, fail: (message: string) => void, onGone: (jobId: string) => void) {
    this.#model = model;
    this.#fail = fail;
    this.onGone = onGone;
  }

  saw(call: JobCall, isUser: boolean): void {
    switch (call.method) {
      case 'createJob':
        this.#created(call);
        return;
      case 'removeJob':
        this.#wentAway(call);
        return;
      case 'addItems':
        this.#added(call);
        return;
      case 'reopen':
        this.#reopened(call);
        return;
      case 'changeJob':
        this.#changed(call, isUser);
        return;
    }
  }

  /** May concern only a job that its user has asked to delete, for good, and no other of that id. */
  #wentAway({ jobId, incarnation, answer }: Extract<JobCall, { method: 'removeJob' }>): void {
    const job = this.#model.jobs.get(jobId);
    const isDue = job?.incarnation === incarnation && job.removing === true;
    if (answer !== isDue && !(job?.isFoggy ?? this.#model.hasCrashed)) {
      this.#fail(`removeJob ${jobId}#${incarnation}: ${answer}, and there is #${job?.incarnation} (${job?.removing})`);
    }
    if (answer) this.removed(jobId);
  }

  #created({ job, items, answer }: Extract<JobCall, { method: 'createJob' }>): void {
    const known = this.#model.jobs.has(job.jobId);
    if (answer.kind === 'exists' && this.#model.hasCrashed) {
      this.found(answer.job);
      return;
    }
    if ((answer.kind === 'created') === known) this.#fail(`createJob ${job.jobId} answered ${answer.kind}`);
    if (answer.kind !== 'created') return;
    const made = newModelJob(answer.job, this.#model);
    for (const item of items) addModelItem(made, item);
    this.#model.jobs.set(job.jobId, made);
  }

  /** After a crash: a call whose answer was lost has made it. */
  found(job: JobRecord): void {
    if (this.#model.jobs.has(job.jobId)) return;
    this.#model.jobs.set(job.jobId, { ...newModelJob(job, this.#model), isFoggy: true });
  }

  /** After a crash: what the record shows is so, for calls without an answer may have made it so. */
  believe(job: ModelJob, record: JobRecord): void {
    job.status = record.status;
    // A resume whose answer was lost has ended it.
    job.pausedByUser &&= record.status === 'paused';
    const wait = record.waitingFor;
    job.waiting =
      wait === undefined ? null : { until: wait.until, ms: wait.until - wait.at, from: wait.held?.from ?? wait.at };
    job.held = record.held;
    job.circuit = record.circuit.state;
    // The oracle knows only the type of what stops a job.
    job.tally = { ...record.tally, stopper: record.tally.stopper?.split(':')[0] ?? null };
    job.used = usedBy(record);
    job.finds = findsOf(record);
    job.round = record.round;
    job.fenced = record.fenced;
    job.policy = record.policy;
    job.openUntil = record.openUntil;
    job.replacedBy = record.replacedBy ?? null;
    job.removing = record.removing;
    job.replacedRound = record.replacedRound ?? 1;
    job.mayRecover = 0;
    if (record.manifest !== null && !job.hasManifest) this.newManifests.add(job.jobId);
    job.hasManifest = record.manifest !== null;
    job.isFinishing = isUnderWay(record.status) && record.finishedAt !== null;
    job.mayReopen = 0;
  }

  removed(jobId: string): void {
    const job = this.#model.jobs.get(jobId);
    if (job === undefined) return;
    for (const batch of job.batches.values()) dropBatch(this.#model, job, batch);
    this.#model.jobs.delete(jobId);
    this.#model.usedIds.add(jobId);
    this.onGone(jobId);
  }

  #added({ jobId, items, openUntil, answer }: Extract<JobCall, { method: 'addItems' }>): void {
    const job = this.#model.jobs.get(jobId);
    if (job === undefined || answer.kind !== 'added') return;
    if (job.status === 'cancelled') this.#fail(`${jobId}: a cancelled job took items`);
    let added = 0;
    sawKnown(job, items, answer, this.#fail);
    for (const item of items) {
      if (job.ids.has(item.itemId)) continue;
      addModelItem(job, item);
      added += 1;
    }
    if (added !== answer.added) this.#fail(`addItems ${jobId}: ${answer.added} added, ${added} were new`);
    const hadNothingLeft = job.status === 'completed' || job.isFinishing;
    const hasMore = added + answer.replaced.length > 0;
    if (!hadNothingLeft || hasMore) job.openUntil = openUntil;
    if (hadNothingLeft && hasMore) this.#goOn(job);
  }

  #reopened({ jobId, filter, openUntil, answer }: Extract<JobCall, { method: 'reopen' }>): void {
    const job = this.#model.jobs.get(jobId);
    if (job === undefined || filter.preview || !('kind' in answer) || answer.kind !== 'reopened') return;
    job.openUntil = openUntil;
    if (answer.items === 0) return;
    if (job.status === 'cancelled') this.#fail(`${jobId}: items of a cancelled job were reopened`);
    const { groupKeys } = filter;
    const isAny = groupKeys === null || (job.mayReopen > 0 && job.reopenedGroups === null);
    job.reopenedGroups = isAny ? null : [...(job.mayReopen > 0 ? (job.reopenedGroups ?? []) : []), ...groupKeys];
    job.mayReopen += answer.items;
    if (job.status === 'completed' || job.status === 'failed' || job.isFinishing) this.#goOn(job);
  }

  /** A job that was over, or had only to be indexed, is at work again. */
  #goOn(job: ModelJob): void {
    if (job.isFinishing) {
      job.isFinishing = false;
      this.#newRound(job);
      return;
    }
    if (job.status === 'completed') this.#newRound(job);
    job.status = 'in_progress';
    this.#close(job);
  }

  #newRound(job: ModelJob): void {
    job.round += 1;
    job.hasManifest = false;
  }

  #changed({ jobId, event, now, answer }: Extract<JobCall, { method: 'changeJob' }>, isUser: boolean): void {
    const job = this.#model.jobs.get(jobId);
    if (answer === 'missing' || isRefusal(answer)) {
      if (answer === 'missing' && job !== undefined && !job.isFoggy) this.#fail(`${jobId} is missing`);
      return;
    }
    if (job === undefined && this.#model.hasCrashed) return;
    if (job === undefined) {
      this.#fail(`${jobId} was changed, and should not be there`);
      return;
    }
    if ('incarnation' in event && event.incarnation !== job.incarnation && !job.isFoggy) {
      this.#fail(`${jobId}: ${event.kind} of #${event.incarnation} was accepted, and the job is #${job.incarnation}`);
    }
    const from = job.status;
    const allowed: readonly JobStatus[] = FROM[event.kind];
    // A job that is marked may be in progress, if a crash of the machine undid ends of its items.
    const isBeingRemoved = job.removing !== undefined && REMOVALS.has(event.kind);
    if (!allowed.includes(from) && !isBeingRemoved)
      this.#fail(`${jobId}: ${event.kind} was accepted while the job was ${from}`);
    this.#apply(job, event, answer, now, isUser);
    job.status = answer.status;
    const expected = statusAfter(job, event, from);
    if (answer.status !== expected) {
      this.#fail(`${jobId}: ${event.kind} made it ${answer.status} and not ${expected} (it was ${from})`);
    }
  }

  #apply(job: ModelJob, event: JobEvent, answer: JobRecord, now: number, isUser: boolean): void {
    switch (event.kind) {
      case 'start':
        job.held = false;
        return;
      case 'pause':
        if (event.reason.code === 'user') job.pausedByUser = true;
        return;
      case 'resume':
        if (!isUser && job.pausedByUser) this.#fail(`${job.jobId}: the engine resumed what its user had paused`);
        job.pausedByUser = false;
        job.waiting = null;
        job.held = false;
        if (job.circuit === 'open') this.#close(job);
        return;
      case 'control':
        job.used = addUsed(job.used, event.report.usage);
        return;
      case 'exhaust':
        if (!isUsedUp(job) && !job.isFoggy)
          this.#fail(`${job.jobId}: paused for its budget, and something is left of it`);
        return;
      case 'trip':
        // However long the event was on its way, what counts is what has finished since the circuit was last closed.
        if (!mustTrip(job) && !job.isFoggy) {
          this.#fail(`${job.jobId}: the breaker tripped, and its tally is ${JSON.stringify(job.tally)}`);
        }
        job.circuit = 'open';
        return;
      case 'probe':
        if (job.pausedByUser) this.#fail(`${job.jobId}: the breaker probes a job that its user has paused`);
        job.tally = NO_TALLY;
        job.circuit = 'probing';
        return;
      case 'close-circuit':
        if ((job.tally.finished === 0 || mustTrip(job)) && !job.isFoggy) {
          this.#fail(`${job.jobId}: the circuit closed without a probe that succeeded`);
        }
        this.#close(job);
        return;
      case 'cancel':
        job.pausedByUser = false;
        if (job.isFinishing) this.#goOn(job);
        this.#cancel(job);
        return;
      case 'finish': {
        this.#mustHaveNothingLeft(job);
        const isExpected = now < job.openUntil && job.openUntil <= now + 2 * LONGEST_OPEN_MS;
        if (isExpected && !job.isFinishing && !job.isFoggy) {
          this.#fail(`${job.jobId}: finished while more items were expected`);
        }
        job.isFinishing = true;
        return;
      }
      case 'complete':
        job.pausedByUser = false;
        this.#complete(job);
        this.#indexed(job, event, answer);
        return;
      case 'policy':
        job.policy = event.policy;
        return;
      case 'remove':
      case 'remove-for-good':
      case 'keep':
        job.removing = answer.removing;
        return;
      case 'withdraw-results':
        this.#fail(`${job.jobId}: results were withdrawn, and nobody here does so`);
        return;
      case 'replace-results':
        if (answer.replacedBy !== event.by) this.#fail(`${job.jobId}: its results are not those of ${event.by}`);
        if (job.replacedBy === event.by && job.replacedRound === (event.ofRound ?? 1)) return;
        job.replacedBy = event.by;
        job.replacedRound = event.ofRound ?? 1;
        if (job.status === 'completed' || job.status === 'cancelled' || job.isFinishing) this.#newRound(job);
        return;
      case 'manifest':
        this.#indexed(job, event, answer);
    }
  }

  #indexed(job: ModelJob, { round }: Extract<JobEvent, { kind: 'complete' | 'manifest' }>, answer: JobRecord): void {
    if (job.hasManifest) this.#fail(`${job.jobId}: a second manifest was recorded for round ${round}`);
    if (round !== answer.round) this.#fail(`${job.jobId}: a manifest of round ${round} was recorded`);
    job.hasManifest = true;
    this.newManifests.add(job.jobId);
  }

  #close(job: ModelJob): void {
    job.circuit = 'closed';
    job.tally = NO_TALLY;
  }

  /** All but the item that a worker is working on. */
  #cancel(job: ModelJob): void {
    if (job.isFoggy) return;
    const kept = new Set<unknown>();
    for (const batch of job.batches.values()) {
      const first = batch.items?.[0];
      if (batch.lease === null || first === undefined) {
        dropBatch(this.#model, job, batch);
        continue;
      }
      batch.items = [first];
      kept.add(first);
    }
    for (const item of job.items) if (item.final === null && !kept.has(item)) item.final = 'cancelled';
  }

  #complete(job: ModelJob): void {
    if (job.completedRounds.has(job.round)) this.#fail(`${job.jobId}: round ${job.round} was completed twice`);
    job.completedRounds.add(job.round);
    this.#mustHaveNothingLeft(job);
    if (!job.isFinishing && !job.isFoggy) this.#fail(`${job.jobId}: completed, and it was not finishing`);
    job.isFinishing = false;
  }

  #mustHaveNothingLeft(job: ModelJob): void {
    if (job.isFoggy) return;
    const open = job.items.filter((item) => item.final === null).length;
    if (open > 0 || job.batches.size > 0 || job.mayReopen > 0) {
      this.#fail(`${job.jobId}: finished with ${open} items not final and ${job.batches.size} batches in flight`);
    }
  }
}

function isUnderWay(status: JobStatus): boolean {
  return status === 'in_progress' || status === 'paused';
}

/** A time more than twice as far ahead was set by a clock that has been set back. */
const LONGEST_OPEN_MS = 60_000;

const FROM: Readonly<Record<JobEvent['kind'], readonly JobStatus[]>> = {
  start: ['pending'],
  pause: ['pending', 'in_progress', 'paused'],
  resume: ['paused', 'failed'],
  trip: ['in_progress', 'paused'],
  probe: ['paused'],
  'close-circuit': ['in_progress'],
  cancel: ['pending', 'in_progress', 'paused', 'failed'],
  exhaust: ['pending', 'in_progress'],
  finish: ['in_progress', 'paused'],
  complete: ['in_progress', 'paused'],
  policy: ['pending', 'in_progress', 'paused', 'completed', 'failed'],
  'replace-results': ['pending', 'in_progress', 'paused', 'completed', 'failed', 'cancelled'],
  'withdraw-results': [],
  remove: ['pending', 'paused', 'completed', 'failed', 'cancelled'],
  'remove-for-good': ['pending', 'paused', 'completed', 'failed', 'cancelled'],
  keep: ['pending', 'paused', 'completed', 'failed', 'cancelled'],
  recovered: ['pending', 'in_progress', 'paused', 'completed', 'failed', 'cancelled'],
  manifest: ['completed', 'cancelled'],
  'stop-waiting': ['pending', 'in_progress', 'paused', 'completed', 'failed', 'cancelled'],
  'send-control': ['pending', 'in_progress'],
  control: ['pending', 'in_progress', 'paused', 'failed'],
  'negatives-reopened': ['pending', 'in_progress', 'paused', 'failed', 'completed', 'cancelled'],
};

function statusAfter(job: ModelJob, event: JobEvent, from: JobStatus): JobStatus {
  switch (event.kind) {
    case 'start':
    case 'policy':
    case 'remove':
    case 'remove-for-good':
    case 'keep':
    case 'replace-results':
    case 'withdraw-results':
    case 'finish':
    case 'recovered':
    case 'manifest':
    case 'stop-waiting':
    case 'negatives-reopened':
      return from;
    case 'send-control':
      return 'in_progress';
    case 'control':
      // The end shows what it was paused for: no item may be left that was wrongly reported as not existing.
      return from === 'in_progress' && job.status === 'paused' ? 'paused' : from;
    case 'pause':
    case 'exhaust':
      return 'paused';
    case 'resume':
    case 'probe':
    case 'close-circuit':
      return 'in_progress';
    case 'trip': {
      const { cooldown_seconds, on_trip } = job.policy.circuit_breaker;
      const probes = cooldown_seconds !== null && job.tally.stopper === null;
      return probes || on_trip === 'pause' ? 'paused' : 'failed';
    }
    case 'cancel':
      return 'cancelled';
    case 'complete':
      return 'completed';
  }
}

const REMOVALS: ReadonlySet<JobEvent['kind']> = new Set(['remove', 'remove-for-good', 'keep']);
