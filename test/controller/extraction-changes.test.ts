import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { type ChangesAnswer, changesSchema } from '../../src/contract/extraction-answers.ts';
import { ChangeBook } from '../../src/controller/extraction/changes.ts';
import { parseAddress } from '../../src/domain/result-address.ts';
import type { ResultStore } from '../../src/ports/result-store.ts';
import { jobOf, reopenAll } from '../contract/ledger/hands.ts';
import { failedWith } from '../support/builders.ts';
import { deleteJob } from '../support/delete-job.ts';
import { openDesk, pageOf } from './extraction-support.ts';

async function openBook(t: TestContext) {
  const desk = await openDesk(t);
  const { ledger } = desk;
  const errors: unknown[] = [];
  const open = (store: Pick<ResultStore, 'get' | 'put'> = desk.store) =>
    new ChangeBook({ ...desk, store, onError: (_where, error) => errors.push(error) });
  const ask = async (book: ChangeBook, jobId = 'new'): Promise<ChangesAnswer> => {
    const changes = await book.changesOf(await jobOf(ledger, jobId));
    return changesSchema.strict().parse(changes);
  };
  /** The answer once it is complete. */
  const complete = async (book: ChangeBook): Promise<ChangesAnswer> => {
    for (;;) {
      const changes = await ask(book);
      if (changes.state === 'complete') return changes;
      assert.deepEqual(errors, []);
      await setImmediate();
    }
  };
  return { ...desk, errors, open, ask, complete };
}

function seen({ fields }: ChangesAnswer): [string, number, number, number][] {
  return fields.map(({ field, items, added, removed }) => [field, items, added, removed]);
}

/** Ten items with an owner, a city and two bills. */
function parcel({ itemId }: { readonly itemId: string }) {
  return { owner: `owner of ${itemId}`, city: 'X', tax: null, bills: [{ amount: 1 }, { amount: 2 }] };
}

test('fields that a newer parse reads differently are reported with their items and examples', async (t) => {
  const { givenJob, begin, carryOut, open, complete, store } = await openBook(t);
  await givenJob(10, (item) => pageOf(item, parcel(item)));
  await begin();
  await carryOut('new', (item) => {
    if (item.itemId === 'p-9') return failedWith('structure_changed');
    const { city, ...rest } = parcel(item);
    const isEven = item.seq % 2 === 0;
    const owner = isEven ? rest.owner.toUpperCase() : rest.owner;
    return { data: { ...rest, owner, ...(item.seq === 3 ? { tax: 5 } : { city }) }, metadata: {} };
  });
  const book = open();
  const changes = await complete(book);
  assert.deepEqual(seen(changes), [
    ['owner', 5, 0, 0],
    ['city', 1, 0, 1],
    ['tax', 1, 1, 0],
  ]);
  const { compared, total, changed, failed, replaced, extracts } = changes;
  assert.deepEqual([compared, total, changed, failed, replaced, extracts], [9, 9, 6, 1, false, 'old']);
  assert.deepEqual(
    changes.fields[0]?.examples.map(({ item_id: id, before, after }) => [id, before, after]),
    ['p-0', 'p-2', 'p-4'].map((id) => [id, `owner of ${id}`, `OWNER OF ${id.toUpperCase()}`]),
  );
  const kept = await store.get('new/changes.json');
  assert.ok(kept !== null, 'it is kept with the results');
  await book.close();
});

test('the comparison is made once: a caller that asks later, in another process, gets the stored one', async (t) => {
  const { givenJob, begin, carryOut, open, complete, ask, replace, store } = await openBook(t);
  await givenJob(3, (item) => pageOf(item, parcel(item)));
  await begin();
  await carryOut('new', (item) => ({ data: { ...parcel(item), city: 'Y' } }));
  const first = open();
  const changes = await complete(first);
  await first.close();
  const reads: string[] = [];
  const watched = open({
    put: store.put.bind(store),
    get(at) {
      reads.push(parseAddress(at).key);
      return store.get(at);
    },
  });
  assert.deepEqual(await ask(watched), changes);
  assert.deepEqual(reads, ['new/changes.json']);
  await replace();
  assert.deepEqual(await ask(watched), { ...changes, replaced: true });
});

test('the older job’s own data are always compared, even when other data have replaced them by now', async (t) => {
  const { givenJob, begin, carryOut, open, complete, replace } = await openBook(t);
  await givenJob(3, (item) => pageOf(item, parcel(item)));
  await begin({ job_id: 'between' });
  await carryOut('between', (item) => ({ data: { ...parcel(item), owner: 'between' } }));
  await replace('between');
  await begin();
  await carryOut('new', (item) => ({ data: parcel(item) }));
  const book = open();
  const { changed, fields, compared } = await complete(book);
  assert.deepEqual([changed, fields, compared], [0, [], 3]);
  await book.close();
});

test('before the job is over there is nothing to report, and during the comparison its progress is visible', async (t) => {
  const { givenJob, begin, carryOut, open, ask, complete, store, ledger } = await openBook(t);
  await givenJob(250, (item) => ({ html: 'x', data: { seq: item.seq } }));
  assert.equal(await open().changesOf(await jobOf(ledger, 'old')), null);
  await begin();
  const patient = open();
  assert.partialDeepStrictEqual(await ask(patient), { state: 'waiting', compared: 0, total: 0, fields: [] });
  await carryOut('new', (item) => ({ data: { seq: -item.seq } }));

  const gate = Promise.withResolvers<void>();
  const reached = Promise.withResolvers<void>();
  let reads = 0;
  let most = 0;
  const slow = open({
    put: store.put.bind(store),
    async get(at) {
      reads += 1;
      most = Math.max(most, reads);
      if (parseAddress(at).key === 'old/items/p-220/data.json') {
        reached.resolve();
        await gate.promise;
      }
      return store.get(at).finally(() => {
        reads -= 1;
      });
    },
  });
  assert.partialDeepStrictEqual(await ask(slow), { state: 'comparing', compared: 0, total: 250 });
  await reached.promise;
  assert.partialDeepStrictEqual(await ask(slow), { state: 'comparing', compared: 200, changed: 199 });
  gate.resolve();
  assert.partialDeepStrictEqual(await complete(slow), { compared: 250, changed: 249 });
  assert.ok(most <= 33, `${most} reads at once`);
  await slow.close();
});

test('a comparison that was stopped starts over, and a retry makes the stored one out of date', async (t) => {
  const { givenJob, begin, carryOut, open, complete, ask, ledger, clock, store } = await openBook(t);
  await givenJob(3, (item) => pageOf(item, parcel(item)));
  await begin();
  await carryOut('new', ({ itemId }) => (itemId === 'p-2' ? failedWith('unexpected') : { data: { owner: 'new' } }));
  const stopped = open();
  const asked = ask(stopped);
  await stopped.close();
  await asked;
  const book = open();
  assert.partialDeepStrictEqual(await complete(book), { compared: 2, failed: 1 });
  await reopenAll(ledger, 'new', {}, { now: clock.now() });
  assert.partialDeepStrictEqual(await ask(book), { state: 'waiting' });
  await carryOut('new', () => ({ data: { owner: 'new' } }));
  assert.partialDeepStrictEqual(await complete(book), { compared: 3, failed: 0 });
  const put = { contentType: 'application/json', encoding: 'identity', ifTaken: 'replace' } as const;
  await store.put('new/changes.json', Buffer.from('{"torn'), put);
  assert.partialDeepStrictEqual(await complete(book), { compared: 3 });
  await book.close();
});

test('files that are missing, damaged or too large are reported in place of a field', async (t) => {
  const { givenJob, begin, carryOut, open, complete, store } = await openBook(t);
  await givenJob(4, (item) => pageOf(item, parcel(item)));
  await begin();
  await carryOut('new', ({ itemId }) => {
    if (itemId === 'p-1') return { data: 'no JSON' };
    return { data: itemId === 'p-2' ? { text: 'x'.repeat(5 << 20) } : { owner: 'new' } };
  });
  await store.removeAll('old/items/p-0/');
  const book = open();
  const changes = await complete(book);
  assert.partialDeepStrictEqual(changes, { compared: 4, changed: 4 });
  assert.deepEqual(
    changes.fields.slice(0, 2).map(({ field, items }) => [field, items]),
    [
      ['(unreadable)', 2],
      ['(too large to compare)', 1],
    ],
  );
  await book.close();
});

test('without the older job there is nothing to compare with; an error is reported, and the next request starts over', async (t) => {
  const { givenJob, begin, carryOut, open, complete, ask, store, ledger, errors } = await openBook(t);
  await givenJob(1, (item) => pageOf(item, parcel(item)));
  await begin();
  await carryOut('new', () => ({ data: {} }));
  let isFull = true;
  const book = open({
    get: store.get.bind(store),
    put(...given) {
      if (isFull) throw new Error('no room');
      return store.put(...given);
    },
  });
  await ask(book);
  while (errors.length === 0) await setImmediate();
  assert.match(String(errors.pop()), /no room/);
  isFull = false;
  assert.equal((await complete(book)).compared, 1);
  await store.removeAll('new/');
  await deleteJob(ledger, 'old');
  assert.partialDeepStrictEqual(await ask(book), { state: 'complete', compared: 0, total: 1 });
  await book.close();
});
