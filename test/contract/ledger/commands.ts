import assert from 'node:assert/strict';
import type fc from 'fast-check';
import { EMPTY_TALLY } from '../../../src/domain/breaker.ts';
import { inFlightOf } from '../../../src/domain/counts.ts';
import type { FailureType } from '../../../src/domain/failure.ts';
import type { ItemEvent, NewItem } from '../../../src/domain/item.ts';
import { isRefusal, type JobEvent } from '../../../src/domain/job.ts';
import type { JobStatus } from '../../../src/domain/job-steps.ts';
import type { Outcome } from '../../../src/domain/outcome.ts';
import type { Policy } from '../../../src/domain/policy.ts';
import type { Lease, LeasedItem, Ledger } from '../../../src/ports/ledger.ts';
import type { BatchRef } from '../../../src/ports/work-queue.ts';
import { partOf } from '../../support/builders.ts';
import { dueBy } from '../../support/due-by.ts';
import { jobOf, leaseOf, MANIFEST, reopenAll } from './hands.ts';
import type { Model, ModelJob } from './model.ts';
import { checkModel } from './model-check.ts';

/** Everything one can do to a ledger: each command does it to the ledger and to the model, and compares the two. */
export type LedgerCommand = fc.AsyncCommand<Model, Ledger>;

/** What a command is done with, chosen when it runs. With nothing to choose from, the command is passed over. */
export type Choose<T> = (model: Model) => readonly T[];

const LEASE_MS = 1000;

export function addItems(which: number, from: number, count: number, openMs: number): LedgerCommand {
  return command(`add ${count} items from ${from} to job ${which}`, [], async (model, ledger) => {
    const job = model.jobAt(which);
    const items = Array.from({ length: count }, (_, index) => {
      const itemId = `i-${from + index}`;
      return { itemId, input: { itemId }, ...groupAt(from + index) };
    });
    await addTo(job, items, model.now + openMs, model, ledger);
  });
}

/** The items at these places with another input and group, whatever became of them, and one that is new. */
export function correct(which: number, places: readonly number[], version: number): LedgerCommand {
  return command(`correct ${places} of job ${which} to ${version}`, ['correct'], async (model, ledger) => {
    const job = model.jobAt(which);
    const known = [...job.items.values()];
    const items = places.flatMap((place, index) => {
      const item = known[place % known.length];
      return item === undefined
        ? []
        : { itemId: item.itemId, input: { version: version + index }, ...groupAt(version) };
    });
    const fresh = { itemId: `c-${version}`, input: { version } };
    await addTo(job, [...items, fresh], model.now, model, ledger);
  });
}

async function addTo(
  job: ModelJob,
  items: readonly NewItem[],
  openUntil: number,
  model: Model,
  ledger: Ledger,
): Promise<void> {
  const answer = await ledger.addItems(job.jobId, items, openUntil, model.now);
  if (job.status === 'cancelled') assert.deepEqual(answer, { kind: 'closed', status: job.status });
  else assert.deepEqual(answer, { kind: 'added', ...model.addItems(job, items, openUntil) });
}

/** Two of one group, two of another, one of none, and so on. */
export function groupAt(place: number): { readonly group?: string } {
  const group = ['a', 'a', 'b', 'b'][place % 5];
  return group === undefined ? {} : { group };
}

export function dispatch(which: number, size: number): LedgerCommand {
  return command(`dispatch job ${which} by ${size}`, ['dispatch'], async (model, ledger) => {
    const job = model.jobAt(which);
    const before = await jobOf(ledger, job.jobId);
    const dispatched = await ledger.dispatch(job.jobId, size, model.now);
    assert.ok(dispatched);
    const { refs } = dispatched;
    assert.ok(refs.every((ref) => ref.jobId === job.jobId && ref.lane === before.lane));
    const limit = job.policy.throttling.max_concurrent_workers;
    const breaker = job.policy.circuit_breaker.min_requests;
    const open = [...job.items.values()].filter((item) => item.end === null).length;
    const waiting = open - before.itemsInFlight;
    const risk = job.tally.finished >= breaker ? waiting : breaker - job.tally.finished - before.itemsInFlight;
    const free = limit - inFlightOf(before.counts);
    const most = model.mayDispatch(job) ? Math.max(0, Math.min(free, waiting, risk)) : 0;
    assert.ok(refs.length <= most, `${refs.length} batches went out, ${most} may`);
    assert.ok(refs.length > 0 || most === 0, `nothing went out, ${most} may`);
    model.queue(job, refs, size);

    const after = await jobOf(ledger, job.jobId);
    if (refs.length > 0) assert.ok(inFlightOf(after.counts) <= limit, 'the limit of the job');
    if (job.tally.finished < breaker && refs.length > 0) {
      assert.ok(job.tally.finished + after.itemsInFlight <= breaker, 'more is risked than the breaker needs');
    }
  });
}

export function claim(text: string, choose: Choose<BatchRef>, worker: string): LedgerCommand {
  return commandOn(`${worker} claims ${text}`, ['claim'], choose, async (refs, model, ledger) => {
    const until = model.now + LEASE_MS;
    const answers = await ledger.claim(refs, worker, until, model.now);
    assert.equal(answers.length, refs.length);
    for (const [index, ref] of refs.entries()) {
      const answer = answers[index];
      const batch = model.batches.get(ref.batchId);
      if (batch === undefined) assert.equal(answer, 'gone');
      else if (batch.hold === null) model.claim(batch, leaseOf(answer), worker, until);
      else if (batch.hold.worker !== worker) assert.equal(answer, 'held');
      else {
        const { lease, left } = batch.hold;
        const items = lease.items.filter((item) => left.includes(item.itemId));
        assert.deepEqual([leaseOf(answer).token, leaseOf(answer).items], [lease.token, items]);
      }
    }
  });
}

/** The first item that is left of each. */
export function begin(text: string, choose: Choose<Lease>): LedgerCommand {
  return commandOn(`begin ${text}`, [], choose, async (leases, model, ledger) => {
    for (const lease of leases) {
      const hold = model.heldBy(lease.token)?.hold;
      const item = lease.items.find(({ itemId }) => hold === undefined || hold.left.includes(itemId));
      assert.ok(item);
      assert.equal(await ledger.begin(lease.token, item.seq), hold !== undefined);
      if (hold !== undefined) hold.begun = item.itemId;
    }
  });
}

/** All of each lease, or what `some` takes of it. */
export function settle(
  text: string,
  choose: Choose<Lease>,
  outcome: Outcome,
  some: (items: readonly LeasedItem[]) => readonly LeasedItem[] = (items) => items,
): LedgerCommand {
  return commandOn(
    `settle ${text} as ${outcome.kind}`,
    ['advance', 'succeed', 'skip', 'giveUp'],
    choose,
    async (leases, model, ledger) => {
      const parts = leases.map((lease) => partOf(lease, outcome, some(lease.items)));
      const answers = await ledger.settle(parts, model.now);
      const expected = leases.map((lease) => model.settle(lease, some(lease.items), outcome));
      assert.deepEqual(answers, expected);
    },
  );
}

export function release(text: string, choose: Choose<Lease>): LedgerCommand {
  return commandOn(`release ${text}`, ['release', 'withdraw'], choose, async (leases, model, ledger) => {
    for (const { token } of leases) {
      const batch = model.heldBy(token);
      assert.equal(await ledger.release(token, 'drained', model.now), batch !== undefined);
      if (batch !== undefined) model.takeBack(batch);
    }
  });
}

export function recall(text: string, choose: Choose<BatchRef>): LedgerCommand {
  return commandOn(`recall ${text}`, ['lose'], choose, async (refs, model, ledger) => {
    const batches = new Set(refs.flatMap((ref) => model.batches.get(ref.batchId) ?? []));
    const queued = [...batches].filter((batch) => batch.hold === null);
    assert.equal(await ledger.recall(refs, model.now), queued.length);
    for (const batch of queued) model.takeBack(batch);
  });
}

export function renew(text: string, choose: Choose<Lease>): LedgerCommand {
  return commandOn(`renew ${text}`, [], choose, async (leases, model, ledger) => {
    const tokens = leases.map((lease) => lease.token);
    const lost = await ledger.renew(tokens, model.now + LEASE_MS);
    assert.deepEqual(new Set(lost), new Set(tokens.filter((token) => model.heldBy(token) === undefined)));
    for (const token of tokens) {
      const hold = model.heldBy(token)?.hold;
      if (hold !== undefined) hold.until = model.now + LEASE_MS;
    }
  });
}

export function abandon(worker: string): LedgerCommand {
  return command(`abandon ${worker}`, [], async (model, ledger) => {
    const holds = [...model.batches.values()].flatMap(({ hold }) => (hold?.worker === worker ? [hold] : []));
    const answer = await ledger.abandon(worker, model.now);
    assert.ok(answer <= holds.length && answer >= holds.filter((hold) => hold.until > model.now).length);
    for (const hold of holds) hold.until = Math.min(hold.until, model.now);
  });
}

export function expire(queuedMs: number): LedgerCommand {
  return command(
    `expire, and what was queued for ${queuedMs} ms`,
    ['expire', 'poison', 'lose', 'withdraw'],
    async (model, ledger) => {
      const ended = { leases: 0, queued: 0 };
      const queuedBefore = model.now - queuedMs;
      for (const batch of [...model.batches.values()]) {
        const { hold } = batch;
        if (hold !== null && hold.until <= model.now) {
          ended.leases += 1;
          model.strike({ ...batch, hold });
          model.takeBack(batch);
        } else if (hold === null && batch.queuedAt < queuedBefore) {
          ended.queued += 1;
          model.takeBack(batch);
        }
      }
      assert.deepEqual(await ledger.expire(dueBy(model.now, queuedBefore), 1000), ended);
    },
  );
}

export function pass(ms: number): LedgerCommand {
  return command(`${ms} ms pass`, [], async (model) => {
    model.now += ms;
  });
}

export type Change = 'pause' | 'resume' | 'complete' | 'trip' | 'cancel';

const ALLOWED: Record<Change, readonly JobStatus[]> = {
  pause: ['pending', 'in_progress', 'paused'],
  resume: ['paused', 'failed'],
  cancel: ['pending', 'in_progress', 'paused', 'failed'],
  complete: ['in_progress', 'paused'],
  trip: ['in_progress'],
};

export function change(which: number, kind: Change): LedgerCommand {
  return command(`${kind} job ${which}`, kind === 'cancel' ? ['cancel'] : [], async (model, ledger) => {
    const job = model.jobAt(which);
    if (kind === 'complete') await ledger.changeJob(job.jobId, { kind: 'finish' }, model.now);
    const answer = await ledger.changeJob(job.jobId, eventOf(kind, job), model.now);
    assert.ok(answer !== 'missing');
    const isAllowed = ALLOWED[kind].includes(job.status) && isDue(kind, model, job);
    assert.equal(!isRefusal(answer), isAllowed, `${kind} of a job that is ${job.status}`);
    if (!isAllowed) return;
    if (kind === 'cancel') model.cancel(job);
    if (kind === 'pause') job.status = 'paused';
    if (kind === 'complete') job.status = 'completed';
    if (kind === 'trip') Object.assign(job, { status: 'failed', isTripped: true });
    if (kind === 'resume') {
      Object.assign(job, { status: 'in_progress', ...(job.isTripped ? { isTripped: false, tally: EMPTY_TALLY } : {}) });
    }
  });
}

function isDue(kind: Change, model: Model, job: ModelJob): boolean {
  if (kind === 'complete') return model.isExhausted(job);
  return kind !== 'trip' || !model.mayDispatch(job);
}

function eventOf(kind: Change, { round }: ModelJob): JobEvent {
  if (kind === 'pause') return { kind, reason: { code: 'user', message: 'wait', evidence: [] } };
  if (kind === 'trip') return { kind, evidence: [] };
  if (kind === 'complete') return { kind, round, manifest: MANIFEST };
  return { kind };
}

export function changePolicy(which: number, policy: Policy): LedgerCommand {
  const limit = policy.throttling.max_concurrent_workers;
  return command(`let ${limit} work on job ${which}`, [], async (model, ledger) => {
    const job = model.jobAt(which);
    const answer = await ledger.changeJob(job.jobId, { kind: 'policy', policy }, model.now);
    assert.ok(answer !== 'missing');
    assert.equal(isRefusal(answer), job.status === 'cancelled');
    if (!isRefusal(answer)) Object.assign(job, { policy, policyRevision: job.policyRevision + 1 });
  });
}

export interface Reopening {
  readonly errorType: FailureType | null;
  /** Those of the commonest group. */
  readonly isGrouped: boolean;
  /** Every second item by name, backwards. */
  readonly isNamed: boolean;
  readonly preview: boolean;
  readonly limit: number;
}

export function reopen(which: number, asked: Reopening): LedgerCommand {
  const { errorType, isGrouped, isNamed, preview, limit } = asked;
  const some = `${isNamed ? ' that are named' : ''}${isGrouped ? ' of a group' : ''}`;
  const what = `${preview ? 'count' : 'reopen'} ${errorType ?? 'all'}${some}`;
  return command(`${what} of job ${which} by ${limit}`, ['retry'], async (model, ledger) => {
    const job = model.jobAt(which);
    const itemIds = isNamed ? [...job.items.keys()].filter((_, index) => index % 2 === 0).reverse() : null;
    const [group] = isGrouped ? await ledger.failureGroups(job.jobId, 1) : [];
    const filter = { errorType, itemIds, groupKeys: group?.keys ?? null, preview };
    if (job.status === 'pending' || job.status === 'cancelled') {
      const answer = await ledger.reopen(job.jobId, filter, { after: null, limit }, 0, model.now);
      assert.ok('refused' in answer);
      return;
    }
    const failed = [...job.items.values()].filter((item) => {
      if (item.end !== 'failed' || (itemIds !== null && !itemIds.includes(item.itemId))) return false;
      const { type, step } = item.ended.at(-1) ?? {};
      // Each type has one message here, at each step.
      const isOfGroup = group === undefined || (type === group.type && step === group.step?.path);
      return (errorType === null || type === errorType) && isOfGroup;
    });
    const openUntil = model.now + 100;
    assert.equal(await reopenAll(ledger, job.jobId, filter, { limit, openUntil, now: model.now }), failed.length);
    if (preview) return;
    job.openUntil = openUntil;
    model.reopen(job, failed);
  });
}

/** Puts a re-extraction in place that could read every item of `picks`, whatever became of them since. */
export function recover(which: number, picks: readonly number[]): LedgerCommand {
  return command(`recover ${picks} of job ${which}`, ['recover'], async (model, ledger) => {
    const job = model.jobAt(which);
    const items = [...job.items.values()];
    const failed = items.filter(({ end }) => end === 'failed');
    const by = model.nextExtraction();
    assert.ok(!isRefusal((await ledger.changeJob(job.jobId, { kind: 'replace-results', by }, model.now)) as never));
    if (job.status === 'completed' || job.status === 'cancelled') job.round += 1;
    const asked = picks.flatMap((seq) => {
      const attempt = items[seq]?.ended.at(-1)?.attempt ?? 1;
      return { seq, attempt, artifacts: [], reading: { tries: 1, startedAt: model.now, durationMs: 1 } };
    });
    const answer = await ledger.recover(job.jobId, by, asked, model.now);
    const found = failed.filter((item) => picks.includes(items.indexOf(item)));
    if (failed.length === 0) assert.ok('refused' in answer);
    else assert.deepEqual(answer, { kind: 'recovered', taken: asked.length, items: found.length });
    for (const item of found) model.recover(item);
    const done = await ledger.changeJob(job.jobId, { kind: 'recovered', by }, model.now);
    assert.equal(isRefusal(done as never), failed.length === 0);
  });
}

/** Several commands as one. */
export function inTurn(text: string, commands: readonly LedgerCommand[]): LedgerCommand {
  return {
    check: () => true,
    async run(model, ledger) {
      for (const one of commands) if (one.check(model)) await one.run(model, ledger);
    },
    toString: () => text,
  };
}

/** `events`: what a command may do to items. A status that changes in any other way is missing from the table. */
function command(
  text: string,
  events: readonly ItemEvent[],
  run: (model: Model, ledger: Ledger) => Promise<void>,
): LedgerCommand {
  return {
    check: () => true,
    async run(model, ledger) {
      await run(model, ledger);
      await checkModel(model, ledger, events);
    },
    toString: () => text,
  };
}

function commandOn<T>(
  text: string,
  events: readonly ItemEvent[],
  choose: Choose<T>,
  run: (chosen: readonly T[], model: Model, ledger: Ledger) => Promise<void>,
): LedgerCommand {
  const plain = command(text, events, (model, ledger) => run(choose(model), model, ledger));
  return { ...plain, check: (model) => choose(model as Model).length > 0 };
}
