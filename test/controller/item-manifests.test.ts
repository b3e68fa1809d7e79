import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { test } from 'node:test';
import { ItemManifests } from '../../src/controller/engine/item-manifests.ts';
import type { SettledItem } from '../../src/ports/ledger.ts';
import type { ResultStore } from '../../src/ports/result-store.ts';
import { allItems, change, givenJob, jobOf, reopenAll, runAll } from '../contract/ledger/hands.ts';
import { failedWith, NOW, newItems, newJob, SCRAPED, scrapedWith } from '../support/builders.ts';
import { FoldingStore } from '../support/folding-store.ts';
import { openMemoryLedger } from '../support/memory/ledger.ts';
import { MemoryResultStore } from '../support/memory/result-store.ts';

const digest = (text: string) => hash('sha256', text);

interface Given {
  readonly store?: ResultStore;
  readonly byDefault?: boolean;
  readonly mayWork?: () => boolean;
  readonly isDeaf?: boolean;
}

function open({ store = new MemoryResultStore(), byDefault = true, mayWork = () => true, isDeaf = false }: Given = {}) {
  const ledger = openMemoryLedger();
  const errors: unknown[] = [];
  const clock = { turn: async () => {} };
  const onError = (_: string, error: unknown) => errors.push(error);
  const manifests = new ItemManifests({ ledger, store, clock, digest, byDefault, mayWork, onError });
  ledger.subscribe((heard) => {
    if (heard.kind === 'settled' && !isDeaf) manifests.heard(heard);
  });
  const read = async (name: string, jobId = 'job-1') => {
    const body = await store.get(`${jobId}/manifests/items/${name}.json`);
    return body === null ? null : JSON.parse(new TextDecoder().decode(body));
  };
  return { ledger, store, manifests, read, errors };
}

test('a file says how an item ended as soon as that is recorded', async () => {
  const { ledger, manifests, read, errors } = open();
  const jobId = await givenJob(ledger, { items: 3 });
  await runAll(ledger, jobId, scrapedWith('job-1/items/p-0/html.html'));
  await manifests.stop();
  for (const item of ['p-0', 'p-1', 'p-2']) {
    const told = await read(item);
    assert.partialDeepStrictEqual(told, { item_id: item, status: 'success' });
    assert.deepEqual(Object.values(told.storage_keys), ['job-1/items/p-0/html.html']);
  }
  assert.deepEqual(errors, []);
});

test('the file of a failed item has its error, and a retry that succeeds replaces it', async () => {
  const { ledger, manifests, read } = open();
  const jobId = await givenJob(ledger);
  await runAll(ledger, jobId, failedWith('timeout'));
  await manifests.stop();
  assert.partialDeepStrictEqual(await read('p-0'), { status: 'error', storage_keys: {} });
  await reopenAll(ledger, jobId);
  await runAll(ledger, jobId, scrapedWith('job-1/items/p-0/attempt-2/html.html'));
  await manifests.stop();
  assert.partialDeepStrictEqual(await read('p-0'), { status: 'success' });
});

test('files that were missed are written when the job is over, and the others are left alone', async () => {
  const { ledger, store, manifests, read } = open({ isDeaf: true });
  const jobId = await givenJob(ledger, { items: 100 });
  await runAll(ledger, jobId, scrapedWith('x/html.html'));
  assert.equal(await read('p-7'), null);
  const [job, items] = [await jobOf(ledger, jobId), await allItems(ledger, jobId)];
  assert.equal(await manifests.fill(job, items), true);
  assert.partialDeepStrictEqual(await read('p-7'), { status: 'success' });
  let puts = 0;
  const put = store.put.bind(store);
  store.put = (...args) => {
    puts += 1;
    return put(...args);
  };
  assert.equal(await manifests.fill(job, items), true);
  assert.equal(puts, 0);
});

test('an end that was read before a retry does not take the place of the one after it', async () => {
  const { ledger, manifests, read } = open();
  const jobId = await givenJob(ledger);
  await runAll(ledger, jobId, failedWith('timeout'));
  const [job, before] = [await jobOf(ledger, jobId), await allItems(ledger, jobId)];
  await reopenAll(ledger, jobId);
  await runAll(ledger, jobId, scrapedWith('x/html.html'));
  await manifests.stop();
  await manifests.fill(job, before);
  assert.partialDeepStrictEqual(await read('p-0'), { status: 'success' });
});

test('what an earlier process wrote is corrected, and a torn file is replaced', async () => {
  const { ledger, store, manifests, read } = open();
  for (const [name, text] of [
    ['p-0', '{"item_id":"p-0","status":"error"}'],
    ['p-1', '{"item_'],
  ]) {
    const how = { contentType: 'application/json', encoding: 'identity', ifTaken: 'keep' } as const;
    await store.put(`job-1/manifests/items/${name}.json`, new TextEncoder().encode(text), how);
  }
  const jobId = await givenJob(ledger, { items: 2 });
  await runAll(ledger, jobId, scrapedWith('x/html.html'));
  await manifests.stop();
  for (const name of ['p-0', 'p-1'])
    assert.partialDeepStrictEqual(await read(name), { item_id: name, status: 'success' });
});

test('on a disk that folds case no item overwrites the file of another, however often they end', async () => {
  const { ledger, manifests, read } = open({ store: new FoldingStore(new MemoryResultStore()) });
  const items = newItems(2).map((item, index) => ({ ...item, itemId: index === 0 ? '503-51-079A' : '503-51-079a' }));
  await ledger.createJob(newJob(), items, NOW);
  for (const end of [failedWith('timeout'), failedWith('blocked'), scrapedWith('x/html.html')]) {
    await runAll(ledger, 'job-1', end);
    await manifests.stop();
    await reopenAll(ledger, 'job-1');
  }
  const told = [await read('503-51-079A'), await read(`503-51-079a~${digest('"503-51-079a"').slice(0, 32)}`)];
  const other = await read(`503-51-079a~${digest('"503-51-079A"').slice(0, 32)}`);
  const found = [...told, other].filter((each) => each !== null);
  assert.deepEqual(found.map(({ item_id }) => item_id).sort(), ['503-51-079A', '503-51-079a']);
  assert.ok(found.every(({ status }) => status === 'success'));
});

test('the policy decides, and if it says nothing, the place where results are kept does', async () => {
  const cases = [
    { byDefault: true, item_manifests: null, kept: true, empty: false },
    { byDefault: true, item_manifests: false, kept: false, empty: false },
    { byDefault: true, item_manifests: true, kept: true, empty: true },
    { byDefault: false, item_manifests: null, kept: false, empty: false },
    { byDefault: false, item_manifests: true, kept: true, empty: true },
  ];
  for (const { byDefault, item_manifests, kept, empty } of cases) {
    const { ledger, manifests, read } = open({ byDefault });
    const policy = { results: { item_manifests } };
    await givenJob(ledger, { jobId: 'kept', policy });
    await givenJob(ledger, { jobId: 'empty', policy });
    await runAll(ledger, 'kept', scrapedWith('x/html.html'));
    await runAll(ledger, 'empty', SCRAPED);
    await manifests.stop();
    const areThere = [(await read('p-0', 'kept')) !== null, (await read('p-0', 'empty')) !== null];
    assert.deepEqual(areThere, [kept, empty], `${item_manifests} and by default ${byDefault}`);
  }
});

test('an item that kept nothing is not read again only to find that it needs no file', async () => {
  const { ledger, manifests } = open();
  let reads = 0;
  const itemsAt = ledger.itemsAt.bind(ledger);
  ledger.itemsAt = (...args) => {
    reads += 1;
    return itemsAt(...args);
  };
  await runAll(ledger, await givenJob(ledger, { jobId: 'empty', items: 100 }), SCRAPED);
  await manifests.stop();
  assert.equal(reads, 0);
  await runAll(ledger, await givenJob(ledger, { jobId: 'kept' }), scrapedWith('x/html.html'));
  await manifests.stop();
  assert.equal(reads, 1);
});

test('a ledger that cannot be read is asked once, and not over and over', async () => {
  const { ledger, manifests, errors } = open();
  const jobId = await givenJob(ledger, { items: 3 });
  ledger.job = () => Promise.reject(new Error('no ledger'));
  await runAll(ledger, jobId, scrapedWith('x/html.html'));
  await manifests.stop();
  assert.ok(errors.length >= 1 && errors.length <= 3, `${errors.length} errors`);
});

test('nothing is written for a job that is gone or being deleted, nor by a controller that does not lead', async () => {
  let leads = true;
  const { ledger, store, manifests, read } = open({ isDeaf: true, mayWork: () => leads });
  const hint = (seq: number): SettledItem => ({
    seq,
    itemId: `p-${seq}`,
    durationMs: 1,
    status: 'success',
    errorType: null,
    artifacts: 1,
  });
  const jobId = await givenJob(ledger, { items: 2 });
  await runAll(ledger, jobId, scrapedWith('x/html.html'));
  leads = false;
  manifests.heard({ kind: 'settled', jobId, items: [hint(0)] });
  assert.equal(await manifests.fill(await jobOf(ledger, jobId), await allItems(ledger, jobId)), false);
  leads = true;
  manifests.heard({ kind: 'settled', jobId: 'nobody', items: [hint(0)] });
  await change(ledger, jobId, { kind: 'cancel' });
  const { incarnation } = await jobOf(ledger, jobId);
  await change(ledger, jobId, { kind: 'remove', incarnation });
  manifests.heard({ kind: 'settled', jobId, items: [hint(0), hint(1)] });
  await manifests.stop();
  assert.equal(await read('p-0'), null);
  assert.equal(await store.removeAll('job-1/'), 0);
});
