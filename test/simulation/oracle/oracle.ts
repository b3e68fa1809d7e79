import type { NewItem, RecoveredItem } from '../../../src/domain/item.ts';
import type { Delivery } from '../../../src/ports/work-queue.ts';
import type { Backend } from '../backend.ts';
import { falseNegative } from '../forgetful-sites.ts';
import type { LinkedItems } from '../linked-items.ts';
import type { SimProcess } from '../sim-process.ts';
import { ByteOracle } from './bytes.ts';
import { CallLine } from './call-line.ts';
import { askedToCorrect } from './corrections.ts';
import { wrongItemManifest } from './item-manifest.ts';
import { JobOracle } from './jobs.ts';
import { LeadOracle } from './lead.ts';
import { LeaseOracle } from './leases.ts';
import { wrongManifest } from './manifest.ts';
import { type Model, newModel } from './model.ts';
import { readJob, recount, type Snapshot } from './recount.ts';
import { askedToRecover, sawRecovery } from './recoveries.ts';
import { type Scrape, ScrapeOracle } from './scrapes.ts';
import type { SeenCall } from './seen-call.ts';
import { StrikeOracle } from './strikes.ts';
import { unrecovered } from './unrecovered.ts';

export interface OracleParts {
  readonly backend: () => Backend;
  /** Whether each item has a manifest of its own. */
  readonly hasItemManifests: boolean;
  readonly links: LinkedItems;
  /** Whether a controller is too young to know that leases could not be renewed for a while. */
  readonly mayNotKnow: (reaper: SimProcess) => boolean;
}

/**
 * Knows what must be true, and says when it is not. It learns of every call that had an effect, keeps a model of what
 * the ledger must hold because of it, and after every step reads the ledger and compares. It shares no code with the
 * engine but the types and the closed lists.
 */
export class Oracle {
  readonly #parts: OracleParts;
  readonly #model: Model;
  readonly #line = new CallLine();
  readonly #jobs: JobOracle;
  readonly #leases: LeaseOracle;
  readonly #scrapes: ScrapeOracle;
  readonly #bytes: ByteOracle;
  readonly lead: LeadOracle;
  readonly strikes: StrikeOracle;
  readonly #touched = new Set<string>();
  readonly #mayBeGone = new Set<string>();
  readonly #unborn = new Set<string>();
  readonly #receipts = new Map<string, { readonly jobId: string; readonly batchId: string }>();
  #isChecking = false;
  violation: string | null = null;

  constructor(parts: OracleParts) {
    const fail = (message: string) => this.fail(message);
    this.#parts = parts;
    this.#model = newModel(parts.links);
    this.lead = new LeadOracle(fail);
    this.strikes = new StrikeOracle(fail, parts.mayNotKnow);
    this.#jobs = new JobOracle(this.#model, fail, (jobId) => this.#bytes.gone(jobId));
    this.#leases = new LeaseOracle(this.#model, this.strikes, fail);
    this.#scrapes = new ScrapeOracle(this.#model, this.strikes, fail);
    this.#bytes = new ByteOracle(() => parts.backend().store, fail);
  }

  /** The first violation is the one that matters. */
  fail(message: string): void {
    this.violation ??= message;
  }

  get jobIds(): readonly string[] {
    return [...this.#model.jobs.keys()];
  }

  // What is seen

  /** A write to the ledger. */
  inOrder<T>(process: SimProcess, run: () => Promise<T>, seen: (answer: T) => SeenCall): Promise<T> {
    const note = (answer: T) => this.#saw(seen(answer), process);
    return this.#line.enter(run, note, () => this.#lookAgain());
  }

  /** A user has asked for it to be removed. */
  mayBeGone(jobId: string, incarnation: string): void {
    this.#mayBeGone.add(`${jobId}#${incarnation}`);
  }

  /** A job was created under the id of one that is gone. */
  get hasUsedIdsAgain(): boolean {
    return [...this.#model.jobs.values()].some(({ isSecondLife }) => isSecondLife);
  }

  /** A user has asked for failed items to be reopened. */
  mayBeReopened(jobId: string): void {
    this.#model.askedToReopen.add(jobId);
  }

  /** A user is about to send items, which may be known with other inputs. */
  mayBeCorrected(jobId: string, items: readonly NewItem[]): void {
    askedToCorrect(this.#model, jobId, items);
  }

  /** Failed items are about to be turned into successes. */
  mayBeRecovered(jobId: string, items: readonly RecoveredItem[]): void {
    askedToRecover(this.#model, jobId, items);
  }

  /** A user begins to create this job, part by part: until its last part is sent, nothing of it may be visible. */
  unborn(jobId: string): void {
    this.#unborn.add(jobId);
  }

  /** Something was added to the draft of a job. */
  draftGrew(): void {
    for (const jobId of this.#unborn) this.#touched.add(jobId);
  }

  /** The write that makes it is on its way. */
  mayBeBorn(jobId: string): void {
    this.#unborn.delete(jobId);
  }

  delivered(deliveries: readonly Delivery[]): void {
    for (const { receipt, ref } of deliveries) this.#receipts.set(receipt, ref);
  }

  acknowledged(process: SimProcess, receipts: readonly string[]): void {
    this.#line.note(() => this.#judgeAck(process, receipts));
  }

  /** Batches whose message was refused: by now they must have been taken back. */
  notQueued(refs: readonly { readonly jobId: string; readonly batchId: string }[]): void {
    this.#line.note(() => {
      for (const { jobId, batchId } of refs) {
        const job = this.#model.jobs.get(jobId);
        if (job?.batches.get(batchId)?.lease !== null || job.isFoggy) continue;
        this.fail(`${jobId}:${batchId} was refused by the queue, and is still queued`);
      }
    });
  }

  /** No key is left under the prefix. */
  cleared(prefix: string): void {
    this.#bytes.cleared(prefix);
  }

  stored(key: string, hex: string): void {
    this.#bytes.stored(key, hex);
    const jobId = jobOfIndex(key);
    if (jobId !== null && this.#model.jobs.get(jobId)?.hasManifest) this.#jobs.newManifests.add(jobId);
  }

  begins(process: SimProcess, scrape: Scrape): void {
    this.#line.note(() => this.#scrapes.begins(process, scrape));
  }

  kills(process: SimProcess, jobId: string, itemId: string): void {
    this.#line.note(() => this.#scrapes.kills(process, jobId, itemId));
  }

  drained(process: SimProcess): void {
    this.#line.note(() => this.#scrapes.drained(process));
  }

  /** The ledger went down. What it had not answered may or may not be there when it comes back. */
  ownerDied(torn: readonly string[] = []): void {
    this.lead.forgotten();
    this.#line.note(() => {
      for (const key of torn) this.#model.torn.add(key);
      this.#bytes.torn(torn);
      this.#lookAgain();
    });
  }

  // Checks

  /** All calls that were begun are answered. */
  get isUpToDate(): boolean {
    return this.#line.isEmpty;
  }

  get isDirty(): boolean {
    return this.#touched.size > 0 && this.#line.isEmpty && !this.#parts.backend().isAway;
  }

  get isChecking(): boolean {
    return this.#isChecking;
  }

  /** Reads every job that was touched since the last time. Only promises are waited for, no events. */
  async check(): Promise<void> {
    this.#isChecking = true;
    const touched = [...this.#touched];
    this.#touched.clear();
    for (const jobId of touched) await this.#checkJob(jobId);
    await this.#bytes.checkGone();
    for (const { item, settlement } of this.#leases.newSettlements.splice(0)) {
      const job = this.#model.jobs.get(item.jobId);
      // Its job may have been deleted since, and another one may have its id.
      const isDeleted = job?.items[item.seq] !== item || job.removing === true;
      if (!isDeleted) await this.#bytes.settled(item, settlement);
    }
    for (const jobId of [...this.#jobs.newManifests]) await this.#checkManifest(jobId);
    this.#isChecking = false;
  }

  /** At the end of a run: everything that was recorded is still there, and all of it adds up. */
  async checkAll(): Promise<void> {
    for (const jobId of this.#model.jobs.keys()) {
      this.#touched.add(jobId);
      this.#jobs.newManifests.add(jobId);
    }
    this.draftGrew();
    await this.check();
    const { ledger } = this.#parts.backend();
    for (const jobId of this.#model.jobs.keys()) {
      const snapshot = await readJob(ledger, jobId);
      if (snapshot === null) continue;
      await this.#bytes.checkAll(snapshot.items);
      const groups = await ledger.failureGroups(jobId, 1000);
      const grouped = groups.reduce((sum, { count }) => sum + count, 0);
      const { failed } = snapshot.record.counts;
      const { replacedBy } = snapshot.record;
      const missed = replacedBy && unrecovered(snapshot, await readJob(ledger, replacedBy));
      if (missed) this.fail(`${jobId}: ${missed}`);
      const wrong = falseNegative(snapshot.record, snapshot.items);
      if (wrong !== null) this.fail(`${jobId}: ${wrong}`);
      if (grouped !== failed) this.fail(`${jobId}: ${grouped} failures are grouped, and ${failed} items failed`);
    }
  }

  #saw(call: SeenCall, process: SimProcess): void {
    this.#touch(call);
    switch (call.method) {
      case 'createJob':
      case 'changeJob':
      case 'removeJob':
      case 'addItems':
      case 'reopen':
        this.#jobs.saw(call, process.name === 'user');
        return;
      case 'recover':
        sawRecovery(this.#model, call, (message) => this.fail(message));
        return;
      case 'claim':
        this.strikes.knows(call.worker, process);
    }
    this.#leases.saw(call, process);
  }

  #touch(call: SeenCall): void {
    for (const jobId of this.#jobsOf(call)) this.#touched.add(jobId);
  }

  #jobsOf(call: SeenCall): readonly string[] {
    const holder = (token: string) => this.#model.leases.get(token)?.job.jobId ?? [];
    switch (call.method) {
      case 'createJob':
        return [call.job.jobId];
      case 'claim':
      case 'recall':
        return call.refs.map(({ jobId }) => jobId);
      case 'settle':
        return call.parts.map(({ jobId }) => jobId);
      case 'begin':
      case 'release':
        return [holder(call.token)].flat();
      case 'renew':
        return call.tokens.flatMap(holder);
      case 'expire':
      case 'clampTimes':
      case 'abandon':
        return this.jobIds;
      default:
        return [call.jobId];
    }
  }

  /** Bytes, record, acknowledgement, in this order: a worker that acknowledges first loses the batch if it dies. */
  #judgeAck(process: SimProcess, receipts: readonly string[]): void {
    for (const receipt of receipts) {
      const ref = this.#receipts.get(receipt);
      const job = ref && this.#model.jobs.get(ref.jobId);
      const batch = ref && job?.batches.get(ref.batchId);
      if (batch === undefined || job?.isFoggy) continue;
      const state = batch.lease === null ? 'queued' : `leased to ${batch.lease.worker}`;
      this.fail(`${process.name} acknowledged ${batch.jobId}:${batch.batchId}, which is still ${state}`);
    }
  }

  async #checkJob(jobId: string): Promise<void> {
    const snapshot = await readJob(this.#parts.backend().ledger, jobId);
    if (snapshot !== null && this.#unborn.has(jobId)) this.fail(`${jobId} is there before it is whole`);
    const former = this.#model.jobs.get(jobId);
    // After a crash, an unanswered removal may have taken place, and the next job may have been created.
    const mayBeGone = former?.isFoggy && this.#mayBeGone.has(`${jobId}#${former.incarnation}`);
    if (mayBeGone && snapshot?.record.incarnation !== former.incarnation) this.#jobs.removed(jobId);
    if (snapshot !== null && this.#model.hasCrashed) this.#jobs.found(snapshot.record);
    const job = this.#model.jobs.get(jobId);
    if (job === undefined || snapshot === null) {
      if (job !== undefined || snapshot !== null) this.fail(`${jobId} is ${snapshot === null ? 'gone' : 'there'}`);
      return;
    }
    if (job.incarnation !== snapshot.record.incarnation) {
      this.fail(`${jobId}#${job.incarnation} was acknowledged, and #${snapshot.record.incarnation} is in its place`);
      return;
    }
    const wrong = recount(job, snapshot, this.#model);
    if (wrong !== null) this.fail(`${jobId}: ${wrong}`);
    if (job.isFoggy) this.#believe(jobId, snapshot);
  }

  async #checkManifest(jobId: string): Promise<void> {
    this.#jobs.newManifests.delete(jobId);
    const { ledger, store } = this.#parts.backend();
    const snapshot = await readJob(ledger, jobId);
    if (snapshot === null || !this.#model.jobs.get(jobId)?.hasManifest) return;
    // Its results may go from then on, key by key.
    if (snapshot.record.removing === true) return;
    const wrong =
      (await wrongManifest(store, snapshot)) ??
      (this.#parts.hasItemManifests ? await wrongItemManifest(store, snapshot) : null);
    if (wrong !== null) this.fail(`manifest of ${jobId}: ${wrong}`);
  }

  /** It is unknown what became of a call: what can be seen is believed for a while. */
  #lookAgain(): void {
    this.#model.hasCrashed = true;
    for (const job of this.#model.jobs.values()) {
      job.isFoggy = true;
      this.#touched.add(job.jobId);
    }
  }

  /** The fog lifts when nothing is in flight any more. */
  #believe(jobId: string, { record }: Snapshot): void {
    const job = this.#model.jobs.get(jobId);
    if (job === undefined) return;
    this.#jobs.believe(job, record);
    if (record.counts.queued + record.counts.inProgress > 0) return;
    job.isFoggy = false;
    for (const { lease } of job.batches.values()) if (lease !== null) this.#model.leases.delete(lease.token);
    job.batches.clear();
  }
}

/** The job whose index is stored under this key; null for any other key. */
function jobOfIndex(key: string): string | null {
  const end = key.indexOf('/');
  const isIndex = key.startsWith('manifests/', end + 1) || key.startsWith('job_metadata', end + 1);
  return isIndex ? key.slice(0, end) : null;
}
