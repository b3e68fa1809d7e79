import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { finishedOf, inFlightOf, pendingOf } from '../../src/domain/counts.ts';
import { planDispatch } from '../../src/domain/dispatch-plan.ts';
import {
  acceptsItems,
  applyJobEvent,
  isRefusal,
  type JobEvent,
  type JobRecord,
  type Refusal,
  whenItemsAdded,
  whenReopened,
} from '../../src/domain/job.ts';
import {
  finalStatusOf,
  whenClaimed,
  whenDispatched,
  whenReturned,
  whenSettled,
} from '../../src/domain/job-progress.ts';
import type { Outcome } from '../../src/domain/outcome.ts';
import { sized } from '../support/sized.ts';
import { anyOutcome, jobOf, MANIFEST, NOW, type policyOf, SCRAPED } from './builders.ts';

/**
 * Small jobs from their first item to their end, with nothing but the pure functions: a table of items plays the
 * ledger, generated commands play users, workers and trouble, and after every step the items are counted again.
 */
type ItemState = 'waiting' | 'out' | 'success' | 'failed' | 'skipped' | 'cancelled';

interface Batch {
  state: 'queued' | 'in_progress';
  /** Unsettled, in the order in which a worker takes them. */
  items: number[];
}

class Play {
  job: JobRecord;
  now = NOW;
  readonly #itemsPerBatch: number;
  readonly #items: ItemState[];
  #batches: Batch[] = [];
  /** What may be in flight: the maximum, or what was in flight when it was lowered. */
  #limit: number;
  /** A reset tally does not know what was dispatched before, so the limit of the first tries cannot be seen in it. */
  #isTallyWhole = true;

  constructor(job: JobRecord, itemsPerBatch: number) {
    this.job = job;
    this.#itemsPerBatch = itemsPerBatch;
    this.#items = Array<ItemState>(job.counts.total).fill('waiting');
    this.#limit = job.policy.throttling.max_concurrent_workers;
  }

  /** One look by the scheduler. Returns when to look again, if all it needs is for time to pass. */
  look(): number | null {
    const plan = planDispatch(this.job, this.#itemsPerBatch, this.now);
    switch (plan.kind) {
      case 'wait':
        return plan.until;
      case 'give-up-waiting':
        this.change({ kind: 'pause', reason: plan.reason });
        return null;
      case 'finish':
        this.complete();
        assert.equal(this.job.status, 'completed');
        return null;
      case 'control':
      case 'reopen':
        return assert.fail('a job without controls has none to try');
      case 'exhausted':
        this.change({ kind: 'exhaust' });
        return null;
      case 'verdict':
        if (plan.verdict.kind === 'trip') this.change({ kind: 'trip', evidence: [] });
        else this.change({ kind: plan.verdict.kind === 'close' ? 'close-circuit' : 'probe' });
        return null;
      case 'go': {
        const { batches, itemsPerBatch } = plan.allowance;
        let items = 0;
        for (let made = 0; made < batches; made += 1) {
          const taken = this.#find('waiting').slice(0, itemsPerBatch);
          assert.ok(taken.length > 0, 'more may go out than there is');
          for (const seq of taken) this.#items[seq] = 'out';
          this.#batches.push({ state: 'queued', items: taken });
          items += taken.length;
        }
        this.job = whenDispatched(this.job, { batches, items, throttle: plan.throttle }, this.now);
        return null;
      }
    }
  }

  claim(pick: number): void {
    const batch = this.#pick('queued', pick);
    if (batch === undefined) return;
    batch.state = 'in_progress';
    this.job = whenClaimed(this.job);
  }

  settle(pick: number, outcome: Outcome): void {
    const batch = this.#pick('in_progress', pick);
    const seq = batch?.items.shift();
    if (batch === undefined || seq === undefined) return;
    this.#items[seq] = finalStatusOf(outcome);
    this.job = whenSettled(this.job, { outcome }, batch.items.length === 0);
    this.#batches = this.#batches.filter((each) => each.items.length > 0);
  }

  /** The message was lost, or the worker gave up, died or fell silent. */
  giveBack(pick: number, state: Batch['state']): void {
    const batch = this.#pick(state, pick);
    if (batch === undefined) return;
    for (const seq of batch.items) this.#items[seq] = this.job.status === 'cancelled' ? 'cancelled' : 'waiting';
    this.job = whenReturned(this.job, state, batch.items.length);
    this.#batches = this.#batches.filter((each) => each !== batch);
  }

  change(event: JobEvent): void {
    const tally = this.job.tally;
    if (!this.#take(applyJobEvent(this.job, event, this.now))) return;
    if (event.kind === 'cancel') this.#cancelItems();
    this.#isTallyWhole &&= this.job.tally === tally;
  }

  complete(): void {
    this.change({ kind: 'finish' });
    this.change({ kind: 'complete', round: this.job.round, manifest: MANIFEST });
  }

  retry(count: number): void {
    const failed = this.#find('failed').slice(0, count);
    if (failed.length === 0) return;
    const tally = this.job.tally;
    if (!this.#take(whenReopened(this.job, failed.length))) return;
    for (const seq of failed) this.#items[seq] = 'waiting';
    this.#isTallyWhole &&= this.job.tally === tally;
  }

  addItems(count: number): void {
    if (!acceptsItems(this.job)) return;
    const tally = this.job.tally;
    this.#items.push(...Array<ItemState>(count).fill('waiting'));
    this.job = whenItemsAdded(this.job, { added: count, replaced: 0 }, this.job.openUntil);
    this.#isTallyWhole &&= this.job.tally === tally;
  }

  check(): void {
    const { counts } = this.job;
    const count = (state: ItemState) => this.#find(state).length;
    const batches = (state: Batch['state']) => this.#batches.filter((batch) => batch.state === state).length;
    const out = this.#batches.reduce((sum, batch) => sum + batch.items.length, 0);
    assert.deepEqual(counts, {
      total: this.#items.length,
      queued: batches('queued'),
      inProgress: batches('in_progress'),
      success: count('success'),
      failed: count('failed'),
      skipped: count('skipped'),
      cancelled: count('cancelled'),
    });
    assert.equal(this.job.itemsInFlight, out);
    assert.equal(count('out'), out);
    assert.equal(pendingOf(counts), count('waiting') + out - this.#batches.length);
    assert.equal(pendingOf(counts) + inFlightOf(counts) + finishedOf(counts), counts.total);

    const { throttling, circuit_breaker: breaker } = this.job.policy;
    this.#limit = Math.max(throttling.max_concurrent_workers, Math.min(this.#limit, inFlightOf(counts)));
    assert.ok(inFlightOf(counts) <= this.#limit, `${inFlightOf(counts)} in flight, ${this.#limit} allowed`);
    if (this.#isTallyWhole && this.job.tally.finished < breaker.min_requests) {
      assert.ok(this.job.tally.finished + out <= breaker.min_requests, 'more was risked than the breaker allows');
    }
    if (this.job.status === 'completed') assert.equal(finishedOf(counts), counts.total);
    if (this.job.status === 'cancelled') assert.equal(finishedOf(counts) + counts.inProgress, counts.total);
  }

  /** The trouble is over: all workers do their work, every item succeeds, and a user resumes what is paused. */
  finish(): void {
    for (let round = 0; round < 2000; round += 1) {
      const isAtRest = this.#batches.length === 0;
      if (isAtRest && (this.job.status === 'completed' || this.job.status === 'cancelled')) return;
      this.change({ kind: 'resume' });
      const wakeAt = this.look();
      this.claim(round);
      this.settle(round, SCRAPED);
      this.now = Math.max(this.now + 1, wakeAt ?? 0);
      this.check();
    }
    assert.fail(`the job never ends: ${JSON.stringify(this.job)}`);
  }

  #take(result: JobRecord | Refusal): boolean {
    if (isRefusal(result)) return false;
    this.job = result;
    return true;
  }

  #cancelItems(): void {
    for (const batch of this.#batches) {
      const kept = batch.state === 'in_progress' ? 1 : 0;
      for (const seq of batch.items.splice(kept)) this.#items[seq] = 'cancelled';
    }
    this.#batches = this.#batches.filter((batch) => batch.items.length > 0);
    for (const seq of this.#find('waiting')) this.#items[seq] = 'cancelled';
  }

  #find(state: ItemState): number[] {
    return this.#items.flatMap((each, seq) => (each === state ? [seq] : []));
  }

  #pick(state: Batch['state'], pick: number): Batch | undefined {
    const candidates = this.#batches.filter((batch) => batch.state === state);
    return candidates[pick % Math.max(1, candidates.length)];
  }
}

const reason = (code: 'user' | 'storage') => ({ code, message: code, evidence: [] });

const always = [
  { weight: 8, arbitrary: fc.constant((play: Play) => void play.look()) },
  { weight: 6, arbitrary: fc.nat(9).map((pick) => (play: Play) => play.claim(pick)) },
  {
    weight: 8,
    arbitrary: fc.tuple(fc.nat(9), anyOutcome).map(
      ([pick, outcome]) =>
        (play: Play) =>
          play.settle(pick, outcome),
    ),
  },
  {
    weight: 2,
    arbitrary: fc.nat(9).map((pick) => (play: Play) => play.giveBack(pick, pick % 2 === 0 ? 'queued' : 'in_progress')),
  },
  {
    weight: 2,
    arbitrary: fc.integer({ min: -2000, max: 20_000 }).map((ms) => (play: Play) => {
      play.now += ms;
    }),
  },
];

const sometimes = [
  { weight: 1, arbitrary: fc.constantFrom('user', 'storage').map((code) => pause(code as 'user' | 'storage')) },
  { weight: 3, arbitrary: fc.constant((play: Play) => play.change({ kind: 'resume' })) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 9 }).map((count) => (play: Play) => play.retry(count)) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 9 }).map((count) => (play: Play) => play.addItems(count)) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 6 }).map((workers) => changeWorkers(workers)) },
  { weight: 1, arbitrary: fc.constant((play: Play) => play.complete()) },
];

const rarely = { weight: 1, arbitrary: fc.constant((play: Play) => play.change({ kind: 'cancel' })) };

function pause(code: 'user' | 'storage') {
  return (play: Play) => play.change({ kind: 'pause', reason: reason(code) });
}

function changeWorkers(max_concurrent_workers: number) {
  return (play: Play) => {
    const { throttling } = play.job.policy;
    const policy = { ...play.job.policy, throttling: { ...throttling, max_concurrent_workers } };
    play.change({ kind: 'policy', policy });
  };
}

const anyPlay = fc
  .record({
    total: fc.integer({ min: 1, max: 30 }),
    itemsPerBatch: fc.constantFrom(1, 1, 2, 5, 100),
    max: fc.integer({ min: 1, max: 6 }),
    throttling: fc.constantFrom<Parameters<typeof policyOf>[0]>(
      {},
      { throttling: { min_delay_between_items_seconds: 1 } },
      { throttling: { max_requests_per_second: 100 } },
    ),
    breaker: fc.record({
      min_requests: fc.integer({ min: 1, max: 15 }),
      failure_threshold_percentage: fc.constantFrom(0.25, 0.8, 1),
      consecutive_failures: fc.integer({ min: 2, max: 8 }),
      on_trip: fc.constantFrom<'fail' | 'pause'>('fail', 'pause'),
      cooldown_seconds: fc.constantFrom(null, 5),
    }),
  })
  .map(({ total, itemsPerBatch, max, throttling, breaker }) => {
    const policy = { throttling: { ...throttling?.throttling, max_concurrent_workers: max }, circuit_breaker: breaker };
    return () => new Play(jobOf(policy, { total }), itemsPerBatch);
  });

function playsOut(commands: fc.Arbitrary<((play: Play) => void)[]>) {
  return fc.property(anyPlay, commands, (begin, steps) => {
    const play = begin();
    play.check();
    for (const step of steps) {
      step(play);
      play.check();
    }
    play.finish();
  });
}

test('a job that is left in peace counts right after every step and comes to its end', () => {
  fc.assert(playsOut(fc.array(fc.oneof(...always), { maxLength: 120, size: 'max' })), {
    numRuns: sized({ quick: 100, slow: 300 }),
  });
});

test('a job that is paused, resumed, retried, changed and filled up meanwhile does so too', () => {
  fc.assert(playsOut(fc.array(fc.oneof(...always, ...sometimes), { maxLength: 120, size: 'max' })), {
    numRuns: sized({ quick: 100, slow: 400 }),
  });
});

test('a job that is cancelled at any moment ends when its workers do', () => {
  fc.assert(playsOut(fc.array(fc.oneof(...always, ...sometimes, rarely), { maxLength: 60, size: 'max' })), {
    numRuns: sized({ quick: 100, slow: 300 }),
  });
});
