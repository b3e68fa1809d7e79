import { finalStatusOf } from '../../../src/domain/job-progress.ts';
import { MAX_STRIKES, mustRunAlone } from '../../../src/domain/strikes.ts';
import type { ClaimAnswer, DueTimes, Lease, Settlement, SettlePart } from '../../../src/ports/ledger.ts';
import { isHeldBack } from '../../../src/ports/return-cause.ts';
import type { BatchRef } from '../../../src/ports/work-queue.ts';
import type { SimProcess } from '../sim-process.ts';
import { wrongBatch } from './batches.ts';
import { mustTrip, riskBound, tallyAfter } from './breaker.ts';
import { textOf } from './corrections.ts';
import { sawFinds } from './finds.ts';
import {
  dropBatch,
  giveBack,
  type Model,
  type ModelBatch,
  type ModelItem,
  type ModelJob,
  type ModelLease,
  reopenModelItem,
} from './model.ts';
import type { SeenCall } from './seen-call.ts';
import type { StrikeOracle } from './strikes.ts';
import { addUsed, isUsedUp } from './usage.ts';
import {
  beginWait,
  goesOnMeanwhile,
  holdsAtDispatch,
  isWaiting,
  type WhenDispatched,
  wentOutTooSoon,
} from './waits.ts';

type Of<M extends SeenCall['method']> = Extract<SeenCall, { method: M }>;
export type LeaseCall = Of<
  'dispatch' | 'claim' | 'begin' | 'renew' | 'settle' | 'release' | 'recall' | 'expire' | 'clampTimes' | 'abandon'
>;

/** How work goes out and comes back: what each call must have answered, and what it must have done to the items. */
export class LeaseOracle {
  readonly #model: Model;
  readonly #strikes: StrikeOracle;
  readonly #fail: (message: string) => void;
  /** Settlements that were recorded just now, whose bytes must be there. */
  readonly newSettlements: { readonly item: ModelItem; readonly settlement: Settlement }[] = [];

  constructor(model: Model, strikes: StrikeOracle, fail: (message: string) => void) {
    this.#model = model;
    this.#strikes = strikes;
    this.#fail = fail;
  }

  saw(call: LeaseCall, process: SimProcess): void {
    switch (call.method) {
      case 'dispatch':
        this.#dispatched(call);
        return;
      case 'claim':
        call.refs.forEach((ref, index) => {
          const answer = call.answer[index];
          if (answer === undefined) this.#fail('claim: fewer answers than batches');
          else this.#claimed(ref, call, answer);
        });
        return;
      case 'begin':
        this.#begun(call);
        return;
      case 'renew':
        this.#renewed(call);
        return;
      case 'settle':
        call.parts.forEach((part, index) => {
          this.#settled(part, call.answer[index]);
        });
        return;
      case 'release':
        this.#released(call);
        return;
      case 'recall':
        this.#recalled(call);
        return;
      case 'expire':
        this.#expired(call, process);
        return;
      case 'clampTimes':
        this.#clamped(call);
        return;
      case 'abandon':
        this.#abandoned(call);
        return;
    }
  }

  #dispatched({ jobId, now, answer }: Of<'dispatch'>): void {
    const job = this.#model.jobs.get(jobId);
    if (answer === null || answer.refs.length === 0) return;
    if (job === undefined && this.#model.hasCrashed) return;
    if (job === undefined) {
      this.#fail(`${jobId} is gone, and was dispatched`);
      return;
    }
    if (!job.isFoggy) this.#mayGoOut(job, now);
    const heldFrom = holdsAtDispatch(job, now);
    job.status = 'in_progress';
    job.riskAllowed = Math.max(job.riskAllowed ?? 0, riskBound(job));
    for (const { batchId } of answer.refs) {
      if (job.batches.has(batchId)) this.#fail(`${jobId}:${batchId} was dispatched twice`);
      job.batches.set(batchId, { jobId, batchId, queuedAt: now, heldFrom, items: null, lease: null });
    }
    const max = job.policy.throttling.max_concurrent_workers;
    if (job.batches.size > max && !job.isFoggy)
      this.#fail(`${jobId}: ${job.batches.size} in flight, and ${max} are allowed`);
  }

  #mayGoOut(job: ModelJob, now: number): void {
    const { jobId, status } = job;
    if (status !== 'in_progress' && status !== 'pending') this.#fail(`${jobId} is ${status}, and was dispatched`);
    if (job.held) this.#fail(`${jobId} is held, and was dispatched`);
    if (isWaiting(job, now) && !goesOnMeanwhile(job)) this.#fail(`${jobId} waits for a host, and was dispatched`);
    if (job.circuit === 'open') this.#fail(`${jobId}: work was dispatched through an open circuit`);
    if (isUsedUp(job)) this.#fail(`${jobId}: work was dispatched although its budget is used up`);
    if (mustTrip(job)) this.#fail(`${jobId}: work was dispatched although the breaker must trip`);
  }

  #claimed(ref: BatchRef, { worker, until, askedAt }: Of<'claim'>, answer: ClaimAnswer): void {
    const job = this.#model.jobs.get(ref.jobId);
    const batch = job?.batches.get(ref.batchId);
    const name = `claim of ${ref.jobId}:${ref.batchId} by ${worker}`;
    if (job === undefined && this.#model.hasCrashed) return;
    // A control is not held by any worker, and only its report counts.
    if (typeof answer === 'object' && answer.control !== undefined) return;
    if (answer === 'gone') {
      if (batch !== undefined && !job?.isFoggy) this.#fail(`${name}: gone, but it is there`);
      return;
    }
    if (answer === 'held') {
      const isOthers = batch?.lease !== undefined && batch.lease !== null && batch.lease.worker !== worker;
      if (!isOthers && !job?.isFoggy) this.#fail(`${name}: held, but by nobody else`);
      return;
    }
    if (job === undefined) {
      this.#fail(`${name}: granted, but the job is gone`);
      return;
    }
    if (batch?.lease) {
      if (batch.lease.worker !== worker) {
        this.#fail(`${name}: granted, but ${batch.lease.worker} holds it`);
        return;
      }
      if (batch.lease.token !== answer.token) this.#fail(`${name}: its token changed`);
      return;
    }
    if (batch === undefined && !job.isFoggy) {
      this.#fail(`${name}: granted, but there is no such batch`);
      return;
    }
    const went = { queuedAt: batch?.queuedAt ?? 0, heldFrom: batch?.heldFrom ?? null };
    this.#grant(job, ref, answer, { worker, until, askedAt, went }, name);
  }

  #grant(
    job: ModelJob,
    { batchId, jobId }: BatchRef,
    answer: Lease,
    { worker, until, askedAt, went }: { worker: string; until: number; askedAt: number; went: WhenDispatched },
    name: string,
  ): void {
    if (this.#model.tokens.has(answer.token) && !job.isFoggy)
      this.#fail(`${name}: token ${answer.token} is used again`);
    this.#model.tokens.add(answer.token);
    const inHand = new Set([...job.batches.values()].flatMap(({ items }) => items ?? []));
    const items: ModelItem[] = [];
    for (const { seq, attempt, itemId, input, depth = null } of answer.items) {
      const item = job.items[seq];
      if (item === undefined && job.isFoggy) return;
      if (item === undefined || item.itemId !== itemId) {
        this.#fail(`${name}: there is no item ${seq} ${itemId}`);
        return;
      }
      if (item.final === 'failed' && job.mayReopen > 0) {
        job.mayReopen -= 1;
        reopenModelItem(item);
      }
      if (item.final !== null && !job.isFoggy) this.#fail(`${name}: item ${seq} is ${item.final} already`);
      if (item.input !== textOf(input) && !job.isFoggy)
        this.#fail(`${name}: item ${seq} goes out with ${textOf(input)}, and ${item.input} was taken last`);
      if (item.depth !== depth) this.#fail(`${name}: item ${seq} has depth ${depth}, not ${item.depth}`);
      if (wentOutTooSoon(job, item, went))
        this.#fail(`${name}: item ${seq} waits for its host until ${item.hold?.until}`);
      item.hold = null;
      if (inHand.has(item) && !job.isFoggy) this.#fail(`${name}: item ${seq} is in another batch, too`);
      if (job.isFoggy) item.deliveries = attempt - 1;
      item.deliveries += 1;
      item.takers.set(worker, (item.takers.get(worker) ?? 0) + 1);
      if (attempt !== item.deliveries)
        this.#fail(`${name}: item ${seq} has attempt ${attempt}, not ${item.deliveries}`);
      if (item.strikes > 0 !== answer.suspect && !job.isFoggy) {
        this.#fail(
          `${name}: item ${seq} has ${item.strikes} strikes in a batch that is ${answer.suspect ? '' : 'not '}suspect`,
        );
      }
      items.push(item);
    }
    if (mustRunAlone(items) !== answer.alone && !job.isFoggy) this.#fail(`${name}: alone is ${answer.alone}`);
    if (items.length === 0) this.#fail(`${name}: granted without items`);
    const wrong = wrongBatch(job, items);
    if (wrong !== null) this.#fail(`${name}: ${wrong}`);
    const lease: ModelLease = {
      token: answer.token,
      worker,
      askedAt,
      suspect: answer.suspect,
      alone: answer.alone,
      until,
      begun: null,
    };
    const batch: ModelBatch = { jobId, batchId, ...went, items, lease };
    job.batches.set(batchId, batch);
    this.#model.leases.set(lease.token, { job, batch, lease });
  }

  #begun({ token, seq, answer }: Of<'begin'>): void {
    const held = this.#model.leases.get(token);
    const isOurs = held?.batch.items?.some((item) => item.seq === seq) ?? false;
    if (answer !== isOurs && !this.#isFoggy()) this.#fail(`begin ${token} ${seq}: ${answer}`);
    if (held !== undefined && answer) held.lease.begun = seq;
  }

  #renewed({ tokens, until, answer }: Of<'renew'>): void {
    for (const token of tokens) {
      const held = this.#model.leases.get(token);
      const isLost = answer.includes(token);
      if (isLost !== (held === undefined) && !this.#isFoggy()) {
        this.#fail(
          `renew ${token}: ${isLost ? 'lost' : 'kept'}, and it is ${held === undefined ? 'lost' : 'in force'}`,
        );
      }
      if (held !== undefined && !isLost) held.lease.until = Math.max(held.lease.until, until);
    }
  }

  #settled(part: SettlePart, answer: 'recorded' | 'fenced' | undefined): void {
    const held = this.#model.leases.get(part.token);
    if (held === undefined) {
      this.#settledTooLate(part, answer);
      return;
    }
    if (answer !== 'recorded') {
      if (!held.job.isFoggy) this.#fail(`settle ${part.token}: ${answer}, and the lease is in force`);
      return;
    }
    const { job, batch } = held;
    // It is not known which of them the cancel has already taken away.
    if (job.isFoggy && job.status === 'cancelled') return;
    for (const settlement of part.items) {
      const item = batch.items?.find(({ seq }) => seq === settlement.seq);
      if (item === undefined) continue;
      if (settlement.attempt !== item.deliveries)
        this.#fail(`settle ${part.token}: item ${item.seq} of an earlier attempt`);
      this.#record(job, item, settlement);
      batch.items = batch.items?.filter((other) => other !== item) ?? null;
    }
    if (batch.items?.length === 0) dropBatch(this.#model, job, batch);
  }

  #settledTooLate(part: SettlePart, answer: 'recorded' | 'fenced' | undefined): void {
    const job = this.#model.jobs.get(part.jobId);
    const items = part.items.map(({ seq, attempt }) => ({ item: job?.items[seq], attempt }));
    if (answer === 'recorded') {
      const isKnown = items.every(({ item, attempt }) => item?.recorded.has(attempt));
      if (!isKnown && !job?.isFoggy) this.#fail(`settle ${part.token}: recorded, although the lease is lost`);
      return;
    }
    const isRepetition = items.every(({ item, attempt }) => item?.settlement?.attempt === attempt);
    if (isRepetition && job !== undefined && !job.isFoggy) {
      this.#fail(`settle ${part.token}: fenced, and it repeats what was recorded`);
    }
    if (job !== undefined) job.fenced += 1;
  }

  #record(job: ModelJob, item: ModelItem, settlement: Settlement): void {
    const { outcome } = settlement;
    item.final = finalStatusOf(outcome);
    item.settlement = settlement;
    item.recorded.add(settlement.attempt);
    // After a crash this may repeat what is recorded already: what was used is believed then, not added up.
    if (!job.isFoggy) job.used = addUsed(job.used, settlement.usage);
    job.tally = tallyAfter(
      job.tally,
      outcome.kind === 'failed' ? outcome.failure.type : outcome.kind === 'scraped' ? 'success' : 'skipped',
    );
    const wrong = sawFinds(this.#model, job, item, settlement);
    if (wrong !== null) this.#fail(`settle ${job.jobId}/${item.itemId}: ${wrong}`);
    this.newSettlements.push({ item, settlement });
  }

  #released({ token, because, now, usage, answer }: Of<'release'>): void {
    const held = this.#model.leases.get(token);
    if (answer !== (held !== undefined) && !this.#isFoggy()) this.#fail(`release ${token}: ${answer}`);
    // In any case the worker does not have it any more: an earlier request may have done it before the ledger
    // went down, and its answer is lost.
    if (held === undefined) return;
    if (answer) held.job.used = addUsed(held.job.used, usage);
    giveBack(this.#model, held.job, held.batch);
    if (answer && isHeldBack(because)) beginWait(held.job, held.batch, because.until, now);
  }

  #recalled({ refs, answer }: Of<'recall'>): void {
    let recalled = 0;
    for (const { jobId, batchId } of refs) {
      const job = this.#model.jobs.get(jobId);
      const batch = job?.batches.get(batchId);
      if (job === undefined || batch === undefined || batch.lease !== null) continue;
      giveBack(this.#model, job, batch);
      recalled += 1;
    }
    if (recalled !== answer && !this.#isFoggy()) this.#fail(`recall: ${answer} batches, and ${recalled} were waiting`);
  }

  #expired({ times, limit, answer }: Of<'expire'>, reaper: SimProcess): void {
    const due = { leases: 0, queued: 0 };
    for (const { job, batch } of this.#overdue(times).slice(0, limit)) {
      due[batch.lease === null ? 'queued' : 'leases'] += 1;
      if (batch.lease !== null) this.#lose(job, batch, batch.lease, reaper);
      giveBack(this.#model, job, batch);
    }
    if (this.#isFoggy()) return;
    if (due.leases !== answer.leases || due.queued !== answer.queued) {
      this.#fail(`expire ended ${JSON.stringify(answer)}, and ${JSON.stringify(due)} were due`);
    }
  }

  /** The oldest first, as the port promises. */
  #overdue(times: DueTimes | null): readonly { readonly job: ModelJob; readonly batch: ModelBatch }[] {
    if (times === null) return [];
    const due: { job: ModelJob; batch: ModelBatch; at: number }[] = [];
    for (const job of this.#model.jobs.values()) {
      for (const batch of job.batches.values()) {
        const { lease, queuedAt } = batch;
        const isDue = lease === null ? queuedAt < times.queuedBefore : lease.until <= times.now;
        if (isDue) due.push({ job, batch, at: lease?.until ?? queuedAt });
      }
    }
    return due.sort((one, other) => one.at - other.at);
  }

  #lose(job: ModelJob, batch: ModelBatch, lease: ModelLease, reaper: SimProcess): void {
    // No controller is blamed for what a former owner of the ledger left.
    if (job.isFoggy) return;
    const cause = this.#strikes.causeOf(lease, reaper);
    if (job.status === 'cancelled') return;
    for (const item of batch.items ?? []) {
      if (lease.suspect && lease.begun !== item.seq) continue;
      item.strikes += 1;
      this.#strikes.struck(item, cause(item));
      if (item.strikes < MAX_STRIKES) continue;
      this.#strikes.poisoned(item);
      item.final = 'failed';
      item.settlement = null;
      job.tally = tallyAfter(job.tally, 'poison');
      batch.items = batch.items?.filter((other) => other !== item) ?? null;
    }
  }

  #clamped({ latest, answer }: Of<'clampTimes'>): void {
    let clamped = 0;
    for (const job of this.#model.jobs.values()) {
      for (const batch of job.batches.values()) {
        const { lease } = batch;
        if (latest === null) continue;
        if ((lease?.until ?? batch.queuedAt) <= (lease === null ? latest.queuedAt : latest.until)) continue;
        if (lease === null) batch.queuedAt = latest.queuedAt;
        else lease.until = latest.until;
        clamped += 1;
      }
    }
    if (clamped !== answer && !this.#isFoggy()) this.#fail(`clampTimes: ${answer}, and ${clamped} lay too far ahead`);
  }

  #abandoned({ worker, now, answer }: Of<'abandon'>): void {
    let abandoned = 0;
    for (const { lease } of this.#model.leases.values()) {
      if (lease.worker !== worker || lease.until <= now) continue;
      lease.until = now;
      abandoned += 1;
    }
    if (abandoned !== answer && !this.#isFoggy()) this.#fail(`abandon ${worker}: ${answer}, and it held ${abandoned}`);
  }

  #isFoggy(): boolean {
    if (!this.#model.hasCrashed) return false;
    for (const job of this.#model.jobs.values()) if (job.isFoggy) return true;
    return false;
  }
}
