import { pickEvidence } from '../../domain/breaker.ts';
import type { DispatchPlan } from '../../domain/dispatch-plan.ts';
import { MAX_GROUPS } from '../../domain/failure-group.ts';
import { isRefusal } from '../../domain/job.ts';
import { controlBatchId } from '../../domain/job-controls.ts';
import { walkPages } from '../../domain/walk-pages.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Faults } from '../../ports/faults.ts';
import type { Ledger } from '../../ports/ledger.ts';
import type { BatchRef, WorkQueue } from '../../ports/work-queue.ts';
import { endLostWaits, type LostWaitsDeps } from './end-lost-waits.ts';
import type { EventStream } from './events.ts';
import { reopenNegatives } from './reopen-negatives.ts';

/**
 * Dispatches work. A job is looked at when something happened to it (`poke`), when its cooldown ends, and from time to
 * time in case a hint was lost (`runOnce`). Looking at a job means asking the ledger to dispatch what may go out and
 * following the resulting plan; two looks at one job never overlap, and a poke during a look causes one more look after
 * it.
 */
export class Scheduler {
  readonly #deps: SchedulerDeps;
  /** Jobs being looked at; true if they were poked meanwhile. */
  readonly #looking = new Map<string, { again: boolean; done: Promise<void> }>();
  readonly #alarms = new Map<string, { at: number; off: AbortController }>();

  constructor(deps: SchedulerDeps) {
    this.#deps = deps;
  }

  poke(jobId: string): void {
    if (!this.#deps.mayWork()) return;
    const running = this.#looking.get(jobId);
    if (running) {
      running.again = true;
      return;
    }
    const state = { again: false, done: Promise.resolve() };
    this.#looking.set(jobId, state);
    state.done = this.#lookWhilePoked(jobId, state);
  }

  /** Looks at every job that may need it; returns how many there were. */
  async runOnce(): Promise<number> {
    if (!this.#deps.mayWork()) return 0;
    let seen = 0;
    const { ledger, hosts } = this.#deps;
    for await (const page of walkPages((after) => ledger.activeJobs({ after, limit: 100 }))) {
      if (hosts !== undefined) await endLostWaits({ ...this.#deps, ...hosts }, page.entries);
      for (const job of page.entries) {
        this.poke(job.jobId);
        seen += 1;
      }
    }
    return seen;
  }

  /** Waits for work under way. The caller must stop new pokes (`mayWork`). */
  async stop(): Promise<void> {
    for (const { off } of this.#alarms.values()) off.abort(REPLACED);
    this.#alarms.clear();
    await Promise.all([...this.#looking.values()].map(({ done }) => done));
  }

  async #lookWhilePoked(jobId: string, state: { again: boolean }): Promise<void> {
    try {
      do {
        state.again = false;
        await this.#look(jobId);
      } while (state.again && this.#deps.mayWork());
    } catch (error) {
      this.#deps.onError('scheduler', error);
    } finally {
      this.#looking.delete(jobId);
    }
  }

  async #look(jobId: string): Promise<void> {
    const { ledger, clock, itemsPerBatch } = this.#deps;
    for (;;) {
      const answer = await ledger.dispatch(jobId, itemsPerBatch, clock.now());
      if (answer === null) return;
      if (answer.refs.length > 0) await this.#send(answer.refs);
      if (!(await this.#follow(jobId, answer.plan)) || !this.#deps.mayWork()) return;
    }
  }

  /** Follows the plan beyond the dispatch; returns whether the job must be looked at again at once. */
  async #follow(jobId: string, plan: DispatchPlan): Promise<boolean> {
    const { ledger, clock } = this.#deps;
    switch (plan.kind) {
      case 'go':
        this.#setAlarm(jobId, plan.wakeAt);
        return false;
      case 'wait':
        this.#setAlarm(jobId, plan.until);
        return false;
      case 'finish':
        await ledger.changeJob(jobId, { kind: 'finish' }, clock.now());
        return false;
      case 'give-up-waiting':
        await ledger.changeJob(jobId, { kind: 'pause', reason: plan.reason }, clock.now());
        return false;
      case 'control':
        return await this.#sendControl(jobId);
      case 'reopen':
        await reopenNegatives(this.#deps, jobId, plan.since);
        return true;
      case 'exhausted':
        await ledger.changeJob(jobId, { kind: 'exhaust' }, clock.now());
        return true;
      case 'verdict':
        await this.#execute(jobId, plan.verdict);
        return true;
    }
  }

  /** Recorded before it is sent, like a batch; a lost one is sent again later. */
  async #sendControl(jobId: string): Promise<boolean> {
    const { ledger, clock } = this.#deps;
    const job = await ledger.changeJob(jobId, { kind: 'send-control' }, clock.now());
    if (job === 'missing' || isRefusal(job)) return false;
    await this.#send([{ jobId, batchId: controlBatchId(job), lane: job.lane }]);
    return true;
  }

  async #execute(jobId: string, verdict: Extract<DispatchPlan, { kind: 'verdict' }>['verdict']): Promise<void> {
    const { ledger, clock } = this.#deps;
    switch (verdict.kind) {
      case 'probe':
        await ledger.changeJob(jobId, { kind: 'probe' }, clock.now());
        return;
      case 'close':
        await ledger.changeJob(jobId, { kind: 'close-circuit' }, clock.now());
        return;
      case 'trip': {
        const groups = pickEvidence(verdict.trip, await ledger.failureGroups(jobId, MAX_GROUPS));
        // It becomes part of the job's record, where one name is enough.
        const evidence = groups.map((group) => ({ ...group, keys: group.keys.slice(0, 1) }));
        await ledger.changeJob(jobId, { kind: 'trip', evidence }, clock.now());
      }
    }
  }

  /** Batches that the queue refuses go back at once; the reaper finds those lost on the way or here. */
  async #send(refs: readonly BatchRef[]): Promise<void> {
    const { ledger, queue, faults, events, clock } = this.#deps;
    await faults.at('after-dispatch-before-send');
    const { refused } = await queue.send(refs);
    await faults.at('after-send');
    events.publish({ kind: 'sent', batches: refs.length - refused.length, refused: refused.length });
    if (refused.length > 0) await ledger.recall(refused, clock.now());
  }

  #setAlarm(jobId: string, at: number | null): void {
    const { clock } = this.#deps;
    const current = this.#alarms.get(jobId);
    if (current && current.at === at) return;
    current?.off.abort(REPLACED);
    this.#alarms.delete(jobId);
    if (at === null) return;
    const alarm = { at, off: new AbortController() };
    this.#alarms.set(jobId, alarm);
    void clock.sleep(Math.max(1, at - clock.now()), alarm.off.signal).then(() => {
      if (alarm.off.signal.aborted) return;
      this.#alarms.delete(jobId);
      this.poke(jobId);
    });
  }
}

/** An abort without a reason creates an exception with a stack trace, which would not be read. */
const REPLACED = 'another alarm';

interface SchedulerDeps {
  readonly ledger: Ledger;
  readonly queue: WorkQueue;
  readonly clock: Clock;
  readonly faults: Faults;
  readonly events: EventStream;
  /** Pauses and settings of hosts; only if workers share them. */
  readonly hosts?: Pick<LostWaitsDeps, 'hostPauses' | 'hostSettings'>;
  /** Maximum number of items in a batch, for jobs without `batching`. */
  readonly itemsPerBatch: number;
  /** False while another controller leads, while the storage is in trouble, and once we stop. */
  readonly mayWork: () => boolean;
  readonly onError: (where: string, error: unknown) => void;
}
