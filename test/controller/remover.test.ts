import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { EventStream } from '../../src/controller/engine/events.ts';
import { Remover } from '../../src/controller/engine/remover.ts';
import { removeJob } from '../../src/controller/jobs/remove-job.ts';
import { PLAN_LIFE_MS } from '../../src/domain/job-plan.ts';
import { KeyTaken, type ResultStore } from '../../src/ports/result-store.ts';
import { StorageTrouble } from '../../src/ports/storage-trouble.ts';
import { NOW, newItems, newJob } from '../support/builders.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { openMemoryLedger } from '../support/memory/ledger.ts';
import { openMemoryRecordings } from '../support/memory/recordings.ts';
import { MemoryResultStore } from '../support/memory/result-store.ts';

const KEEP = { contentType: 'text/plain', encoding: 'identity', ifTaken: 'keep' } as const;
const KEYS = Array.from({ length: 8 }, (_, index) => `job-1/items/p-${index}/data.json`);

/** A leader's remover on a ledger and a store in memory. `removeAll` replaces the store's own. */
async function setUp({ removeAll }: { removeAll?: (store: MemoryResultStore) => ResultStore['removeAll'] } = {}) {
  const clock = new FakeClock();
  const ledger = openMemoryLedger();
  const store = new MemoryResultStore();
  const events = new EventStream();
  const [errors, removed]: [unknown[], string[]] = [[], []];
  events.subscribe((event) => {
    if (event.kind === 'engine-error') errors.push(event.error);
    if (event.kind === 'job-removed') removed.push(event.jobId);
  });
  const lead: { term: number | null } = { term: 1 };
  const writing = { promise: Promise.resolve() };
  const open = () =>
    new Remover({
      ...openMemoryRecordings(),
      ...{ ledger, clock, events },
      store: { removeAll: removeAll?.(store) ?? store.removeAll.bind(store) },
      digest: (text) => hash('sha256', text),
      leadTerm: () => lead.term,
      whenWritten: () => writing.promise,
      again() {},
    });
  await ledger.createJob(newJob({ held: true }), newItems(2), NOW);
  for (const key of KEYS) await store.put(key, Buffer.from('old'), KEEP);
  const mark = async () => {
    const job = await ledger.job('job-1');
    assert.ok(job);
    await ledger.changeJob('job-1', { kind: 'remove', incarnation: job.incarnation }, NOW);
  };
  const keysLeft = async () => {
    const bodies = await Promise.all(KEYS.map((key) => store.get(key)));
    return bodies.filter((body) => body !== null).length;
  };
  return { clock, ledger, store, errors, removed, lead, writing, open, mark, keysLeft };
}

/** Removes a page at a time, each when `next` is called. */
function inSteps() {
  const waiting: (() => void)[] = [];
  const removeAll =
    (store: MemoryResultStore): ResultStore['removeAll'] =>
    async (prefix, watch) => {
      for (;;) {
        if (!watch?.mayGoOn()) return null;
        await new Promise<void>((resolve) => waiting.push(resolve));
        let asked = 0;
        const mayGoOn = () => {
          asked += 1;
          return asked === 1;
        };
        if ((await store.removeAll(prefix, { mayGoOn, onClear() {} })) === null) continue;
        watch.onClear();
        return 0;
      }
    };
  const next = async () => {
    waiting.shift()?.();
    for (let turn = 0; turn < 5; turn += 1) await setImmediate();
  };
  return { removeAll, next, isWaiting: () => waiting.length > 0 };
}

test('a job goes with its results, and its id is free when the last key is gone, not before', async () => {
  const steps = inSteps();
  const { ledger, open, mark, keysLeft, removed } = await setUp(steps);
  await mark();
  const remover = open();
  assert.equal(await remover.runOnce(), 1);
  assert.equal(await remover.runOnce(), 0, 'it is at it');
  await setImmediate();
  while (steps.isWaiting()) {
    assert.ok((await keysLeft()) >= 0 && (await ledger.job('job-1'))?.removing === true);
    const again = await ledger.createJob(newJob(), newItems(1), NOW);
    assert.ok(again.kind === 'exists', 'the id is taken');
    await steps.next();
  }
  await remover.whenIdle();
  assert.deepEqual([await keysLeft(), await ledger.job('job-1'), removed], [0, null, ['job-1']]);
});

test('a removal that was stopped with its process is finished by the next one', async () => {
  const steps = inSteps();
  const { ledger, open, mark, keysLeft, errors } = await setUp(steps);
  await mark();
  const first = open();
  await first.runOnce();
  await setImmediate();
  await steps.next();
  const stopping = first.stop();
  await steps.next();
  await stopping;
  assert.ok((await keysLeft()) > 0);
  assert.equal((await ledger.job('job-1'))?.removing, true);
  const second = open();
  await second.runOnce();
  await setImmediate();
  while (steps.isWaiting()) await steps.next();
  await second.whenIdle();
  assert.deepEqual([await keysLeft(), await ledger.job('job-1'), errors], [0, null, []]);
});

test('a remover that did not lead for a while stops what it had begun, even if it leads again', async () => {
  const steps = inSteps();
  const { ledger, store, open, mark, lead } = await setUp(steps);
  await mark();
  const slow = open();
  await slow.runOnce();
  await setImmediate();
  // Another leads, ends the removal, and a new job gets the id and has results.
  lead.term = 2;
  const job = await ledger.job('job-1');
  assert.ok(job);
  await store.removeAll('job-1/');
  await ledger.removeJob('job-1', job.incarnation);
  await ledger.createJob(newJob({ held: true }), newItems(2), NOW);
  const next = await ledger.job('job-1');
  lead.term = 3;
  await steps.next();
  for (const key of KEYS) await store.put(key, Buffer.from('new'), KEEP);
  while (steps.isWaiting()) await steps.next();
  await slow.whenIdle();
  assert.deepEqual(await ledger.job('job-1'), next);
  for (const key of KEYS) assert.deepEqual(await store.get(key), new Uint8Array(Buffer.from('new')));
});

test('bytes that a worker of a deleted job sent late neither replace those of the next job nor are taken for them', async () => {
  const { ledger, store, open, mark } = await setUp();
  await mark();
  const remover = open();
  await remover.runOnce();
  await remover.whenIdle();
  await ledger.createJob(newJob({ held: true }), newItems(2), NOW);
  const [early, late] = ['job-1/items/p-0/data.json', 'job-1/items/p-1/data.json'];
  await store.put(late, Buffer.from('new'), KEEP);
  await assert.rejects(store.put(late, Buffer.from('old'), KEEP), KeyTaken);
  assert.deepEqual(await store.get(late), new Uint8Array(Buffer.from('new')));
  await store.put(early, Buffer.from('old'), KEEP);
  await assert.rejects(store.put(early, Buffer.from('new'), KEEP), KeyTaken, 'and the next attempt has another key');
});

test('what is being written for the job ends before its keys go', async () => {
  const { open, mark, keysLeft, writing } = await setUp();
  const written = Promise.withResolvers<void>();
  writing.promise = written.promise;
  await mark();
  const remover = open();
  await remover.runOnce();
  for (let turn = 0; turn < 5; turn += 1) await setImmediate();
  assert.equal(await keysLeft(), KEYS.length);
  written.resolve();
  await remover.whenIdle();
  assert.equal(await keysLeft(), 0);
});

test('a removal that fails is retried less and less often, and the job stays marked', async () => {
  let failures = 3;
  const removeAll =
    (store: MemoryResultStore): ResultStore['removeAll'] =>
    async (...given) => {
      failures -= 1;
      if (failures >= 0) throw new StorageTrouble('io', 'not now');
      return await store.removeAll(...given);
    };
  const { clock, ledger, open, mark, errors } = await setUp({ removeAll });
  await mark();
  const remover = open();
  const begun: number[] = [];
  for (let second = 0; second < 8; second += 1) {
    begun.push(await remover.runOnce());
    await remover.whenIdle();
    await clock.advance(1000);
  }
  assert.deepEqual(begun, [1, 1, 0, 1, 0, 0, 0, 1]);
  assert.deepEqual([errors.length, await ledger.job('job-1')], [3, null]);
});

test('a job that another came to need between the look and the mark is kept', async () => {
  const { ledger, open, mark, keysLeft } = await setUp();
  await mark();
  await ledger.createJob(newJob({ jobId: 'reader', held: true, extracts: 'job-1' }), newItems(1), NOW);
  const remover = open();
  await remover.runOnce();
  await remover.whenIdle();
  assert.equal((await ledger.job('job-1'))?.removing, undefined);
  assert.equal(await keysLeft(), KEYS.length);
});

test('a caller waits for two seconds, and then learns that the removal is still going on', async () => {
  const steps = inSteps();
  const { clock, ledger, open } = await setUp(steps);
  const [one, two] = [removeJob({ ledger, clock }, 'job-1'), removeJob({ ledger, clock }, 'job-1')];
  await setImmediate();
  const remover = open();
  await remover.runOnce();
  await clock.advance(2500);
  for (const answer of await Promise.all([one, two])) assert.equal(answer.kind, 'removing');
  const three = removeJob({ ledger, clock }, 'job-1');
  await setImmediate();
  while (steps.isWaiting()) await steps.next();
  await clock.advance(500);
  assert.deepEqual(await three, { kind: 'removed' }, 'it joined them');
  assert.deepEqual(await removeJob({ ledger, clock }, 'job-1'), { kind: 'missing' });
});

test('a caller that was overtaken does not delete the next job with that id', async () => {
  const { clock, ledger, open } = await setUp();
  const late = Promise.withResolvers<void>();
  const slow: typeof ledger.changeJob = async (...given) => {
    await late.promise;
    return await ledger.changeJob(...given);
  };
  const slowLedger = new Proxy(ledger, {
    get: (target, name) => (name === 'changeJob' ? slow : Reflect.get(target, name).bind?.(target)),
  });
  const second = removeJob({ ledger: slowLedger, clock }, 'job-1');
  await setImmediate();
  const first = removeJob({ ledger, clock }, 'job-1');
  await setImmediate();
  const remover = open();
  await remover.runOnce();
  await remover.whenIdle();
  await clock.advance(10);
  assert.deepEqual(await first, { kind: 'removed' });
  await ledger.createJob(newJob({ held: true }), newItems(3), NOW);
  late.resolve();
  assert.deepEqual(await second, { kind: 'removed' }, 'the one it meant is gone');
  await remover.runOnce();
  await remover.whenIdle();
  const next = await ledger.job('job-1');
  assert.deepEqual([next?.removing, next?.counts.total], [undefined, 3]);
});

test('a list that was on its way while a removal ended does not remove the next job with that id', async () => {
  const { clock, ledger, store, lead, mark, removed } = await setUp();
  await mark();
  const [listed] = (await ledger.activeJobs({ after: null, limit: 10 })).entries;
  assert.equal(listed?.jobId, 'job-1');
  let list = [listed];
  const remover = new Remover({
    ...openMemoryRecordings(),
    ...{ clock, store, events: new EventStream() },
    ledger: { ...ledger, activeJobs: async () => ({ entries: list, next: null }) },
    digest: (text) => hash('sha256', text),
    leadTerm: () => lead.term,
    whenWritten: async () => {},
    again() {},
  });
  await remover.runOnce();
  await remover.whenIdle();
  assert.equal(await ledger.job('job-1'), null);

  await ledger.createJob(newJob({ held: true }), newItems(2), NOW);
  await store.put('job-1/items/p-0/data.json', Buffer.from('new'), KEEP);
  list = [{ ...listed, removing: true }];
  assert.equal(await remover.runOnce(), 1, 'the list is old: it still has the first job');
  await remover.whenIdle();
  assert.notEqual(await store.get('job-1/items/p-0/data.json'), null, 'the result of the next job is gone');
  assert.notEqual(await ledger.job('job-1'), null);
  assert.deepEqual(removed, []);
});

test('the sample of a plan is stopped and removed a day after it was made, unless it is to be kept', async () => {
  const { clock, ledger, open, removed } = await setUp();
  const list = { items: 50, received: 50, bad: 0, duplicates: 0, conflicts: 0 };
  for (const isKept of [false, true]) {
    const jobId = isKept ? 'kept' : 'sample';
    await ledger.createJob(newJob({ jobId, plan: { ...list, isKept } }), newItems(2), clock.now());
  }
  const remover = open();
  const round = async () => {
    await remover.runOnce();
    await remover.whenIdle();
  };
  await clock.advance(PLAN_LIFE_MS - 1);
  await round();
  assert.equal((await ledger.job('sample'))?.status, 'pending');
  await clock.advance(1);
  await round();
  assert.equal((await ledger.job('sample'))?.status, 'cancelled');
  await round();
  await round();
  assert.deepEqual([await ledger.job('sample'), removed], [null, ['sample']]);
  assert.equal((await ledger.job('kept'))?.status, 'pending');
});
