import type { JobStatus } from '../../../src/domain/job.ts';
import { isRefusal, type JobEvent, type JobRecord, type NewJob } from '../../../src/domain/job.ts';
import { addModelItem, dropBatch, type Model, type ModelJob, NO_TALLY, newModelJob } from './model.ts';
import type { SeenCall } from './seen-call.ts';

type JobCall = Extract<SeenCall, { method: 'createJob' | 'changeJob' | 'removeJob' | 'addItems' | 'reopen' }>;

/** What became of a job must follow from what was asked and from the state it was in. */
export class JobOracle {
  readonly #model: Model;
  readonly #fail: (message: string) => void;
  /** Jobs whose index was recorded just now, and must be read. */
  readonly newManifests = new Set<string>();

  constructor(model: Model, fail: (message: string) => void) {
    this.#model = model;
    this.#fail = fail;
  }

  saw(call: JobCall, isUser: boolean): void {
    switch (call.method) {
      case 'createJob':
        this.#created(call);
        return;
      case 'removeJob':
        if (call.answer !== this.#model.jobs.has(call.jobId) && !this.#model.hasCrashed) {
          this.#fail(`removeJob ${call.jobId}: ${call.answer}`);
        }
        this.removed(call.jobId);
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

  #created({ job, items, answer }: Extract<JobCall, { method: 'createJob' }>): void {
    const known = this.#model.jobs.has(job.jobId);
    if (answer.kind === 'exists' && this.#model.hasCrashed) {
      this.found(job);
      return;
    }
    if ((answer.kind === 'created') === known) this.#fail(`createJob ${job.jobId} answered ${answer.kind}`);
    if (answer.kind !== 'created') return;
    const made = newModelJob(job);
    for (const item of items) addModelItem(made, item);
    this.#model.jobs.set(job.jobId, made);
  }

  /** After a crash: a call whose answer was lost has made it. */
  found(job: NewJob): void {
    if (this.#model.jobs.has(job.jobId)) return;
    this.#model.jobs.set(job.jobId, { ...newModelJob(job), isFoggy: true });
  }

  /** After a crash: what the record shows is so, for calls without an answer may have made it so. */
  believe(job: ModelJob, record: JobRecord): void {
    job.status = record.status;
    job.held = record.held;
    job.circuit = record.circuit.state;
    job.tally = record.tally;
    job.round = record.round;
    job.fenced = record.fenced;
    job.policy = record.policy;
    job.openUntil = record.openUntil;
    job.replacedBy = record.replacedBy ?? null;
    if (record.manifest !== null && !job.hasManifest) this.newManifests.add(job.jobId);
    job.hasManifest = record.manifest !== null;
    job.mayReopen = 0;
  }

  removed(jobId: string): void {
    const job = this.#model.jobs.get(jobId);
    if (job === undefined) return;
    for (const batch of job.batches.values()) dropBatch(this.#model, job, batch);
    this.#model.jobs.delete(jobId);
  }

  #added({ jobId, items, openUntil, answer }: Extract<JobCall, { method: 'addItems' }>): void {
    const job = this.#model.jobs.get(jobId);
    if (job === undefined || answer.kind !== 'added') return;
    if (job.status === 'cancelled') this.#fail(`${jobId}: a cancelled job took items`);
    let added = 0;
    for (const item of items) {
      if (job.ids.has(item.itemId)) continue;
      addModelItem(job, item);
      added += 1;
    }
    if (added !== answer.added) this.#fail(`addItems ${jobId}: ${answer.added} added, ${added} were new`);
    if (job.status !== 'completed') {
      job.openUntil = openUntil;
    } else if (added > 0) {
      job.openUntil = openUntil;
      this.#goOn(job);
    }
  }

  #reopened({ jobId, filter, openUntil, answer }: Extract<JobCall, { method: 'reopen' }>): void {
    const job = this.#model.jobs.get(jobId);
    if (job === undefined || filter.preview || !('kind' in answer) || answer.kind !== 'reopened') return;
    job.openUntil = openUntil;
    if (answer.items === 0) return;
    if (job.status === 'cancelled') this.#fail(`${jobId}: items of a cancelled job were reopened`);
    job.mayReopen += answer.items;
    if (job.status === 'completed' || job.status === 'failed') this.#goOn(job);
  }

  /** A job that was over is at work again. */
  #goOn(job: ModelJob): void {
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
    const from = job.status;
    const allowed: readonly JobStatus[] = FROM[event.kind];
    if (!allowed.includes(from)) this.#fail(`${jobId}: ${event.kind} was accepted while the job was ${from}`);
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
        job.held = false;
        if (job.circuit === 'open') this.#close(job);
        return;
      case 'trip':
        // The verdict may be an old one that was long on its way; but there must have been something to judge.
        if (event.trip.tally.failed === 0 && event.trip.tally.stopper === null) {
          this.#fail(`${job.jobId}: the breaker tripped, and nothing had failed`);
        }
        job.circuit = 'open';
        return;
      case 'probe':
        if (job.pausedByUser) this.#fail(`${job.jobId}: the breaker probes a job that its user has paused`);
        job.tally = NO_TALLY;
        job.circuit = 'probing';
        return;
      case 'close-circuit':
        // Others may have failed since the probe was seen to be good; but there must have been one.
        if (job.tally.finished === 0) this.#fail(`${job.jobId}: the circuit closed without a probe`);
        this.#close(job);
        return;
      case 'cancel':
        job.pausedByUser = false;
        this.#cancel(job);
        return;
      case 'complete':
        job.pausedByUser = false;
        this.#complete(job, now);
        return;
      case 'policy':
        job.policy = event.policy;
        return;
      case 'replace-results':
        if (answer.replacedBy !== event.by) this.#fail(`${job.jobId}: its results are not those of ${event.by}`);
        if (job.replacedBy === event.by) return;
        job.replacedBy = event.by;
        if (job.status === 'completed' || job.status === 'cancelled') this.#newRound(job);
        return;
      case 'manifest':
        if (job.hasManifest) this.#fail(`${job.jobId}: a second manifest was recorded for round ${event.round}`);
        if (event.round !== answer.round) this.#fail(`${job.jobId}: a manifest of round ${event.round} was recorded`);
        job.hasManifest = true;
        this.newManifests.add(job.jobId);
    }
  }

  #close(job: ModelJob): void {
    job.circuit = 'closed';
    job.tally = NO_TALLY;
  }

  /** All but the item that a worker is at. */
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

  #complete(job: ModelJob, now: number): void {
    if (job.completedRounds.has(job.round)) this.#fail(`${job.jobId}: round ${job.round} was completed twice`);
    job.completedRounds.add(job.round);
    if (job.isFoggy) return;
    const open = job.items.filter((item) => item.final === null).length;
    if (open > 0 || job.batches.size > 0 || job.mayReopen > 0) {
      this.#fail(`${job.jobId}: completed with ${open} items not final and ${job.batches.size} batches in flight`);
    }
    if (now < job.openUntil) this.#fail(`${job.jobId}: completed while more items were expected`);
  }
}

const FROM: Readonly<Record<JobEvent['kind'], readonly JobStatus[]>> = {
  start: ['pending'],
  pause: ['pending', 'in_progress', 'paused'],
  resume: ['paused', 'failed'],
  trip: ['in_progress', 'paused'],
  probe: ['paused'],
  'close-circuit': ['in_progress'],
  cancel: ['pending', 'in_progress', 'paused', 'failed'],
  complete: ['in_progress', 'paused'],
  policy: ['pending', 'in_progress', 'paused', 'completed', 'failed'],
  'replace-results': ['pending', 'in_progress', 'paused', 'completed', 'failed', 'cancelled'],
  remove: ['pending', 'paused', 'completed', 'failed', 'cancelled'],
  manifest: ['completed', 'cancelled'],
};

function statusAfter(job: ModelJob, event: JobEvent, from: JobStatus): JobStatus {
  switch (event.kind) {
    case 'start':
    case 'policy':
    case 'remove':
    case 'replace-results':
    case 'manifest':
      return from;
    case 'pause':
      return 'paused';
    case 'resume':
    case 'probe':
    case 'close-circuit':
      return 'in_progress';
    case 'trip': {
      const { cooldown_seconds, on_trip } = job.policy.circuit_breaker;
      const probes = cooldown_seconds !== null && event.trip.cause !== 'stopper';
      return probes || on_trip === 'pause' ? 'paused' : 'failed';
    }
    case 'cancel':
      return 'cancelled';
    case 'complete':
      return 'completed';
  }
}
