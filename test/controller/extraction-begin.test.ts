import assert from 'node:assert/strict';
import { test } from 'node:test';
import { endedItems } from '../../src/controller/extraction/ended-items.ts';
import { failure } from '../../src/domain/failure.ts';
import type { ItemBook } from '../../src/ports/ledger.ts';
import { allItems, change, jobOf, reopenAll } from '../contract/ledger/hands.ts';
import { failedOn, failedWith, SCRAPED, SKIPPED, scrapedWith } from '../support/builders.ts';
import { deleteJob } from '../support/delete-job.ts';
import { onlyNamed, openDesk, pageOf } from './extraction-support.ts';

test('a re-extraction is a job made of the pages that an older one kept, and starts when all of them are in it', async (t) => {
  const { givenJob, begin, ledger } = await openDesk(t);
  const policy = { throttling: { min_delay_between_items_seconds: 5, max_requests_per_second: 1, adaptive: true } };
  await givenJob(6, (item) => {
    if (item.itemId === 'p-1') return failedWith('not_found');
    return item.itemId === 'p-3' ? { data: {} } : pageOf(item);
  });
  await change(ledger, 'old', {
    kind: 'policy',
    policy: { ...(await jobOf(ledger, 'old')).policy, ...policy } as never,
  });
  const answer = await begin({ job_name: 'again', max_concurrent_workers: 7, labels: { why: 'owner' } });
  assert.ok(answer.kind === 'begun', JSON.stringify(answer));
  const { job } = answer;
  assert.deepEqual([answer.withoutPage, answer.isNew], [2, true]);
  assert.deepEqual(
    [job.jobId, job.name, job.extracts, job.scraperId, job.scraperVersion, job.held, job.labels, job.counts.total],
    ['new', 'again', 'old', 'demo', '2.0.0', false, { why: 'owner' }, 4],
  );
  assert.deepEqual(job.policy.throttling, {
    max_concurrent_workers: 7,
    min_delay_between_items_seconds: 0,
    max_requests_per_second: null,
    weight: 1,
    adaptive: false,
  });
  assert.deepEqual(job.policy.circuit_breaker, (await jobOf(ledger, 'old')).policy.circuit_breaker);
  const items = await allItems(ledger, 'new');
  assert.deepEqual(
    items.map(({ itemId, input, source }) => [itemId, input, source?.html.key, source?.metadata?.key]),
    ['p-0', 'p-2', 'p-4', 'p-5'].map((id) => [
      id,
      { apn: id },
      `old/items/${id}/html.html`,
      `old/items/${id}/metadata.json`,
    ]),
  );
});

test('failed items that have a page are read, too, in the order of the job', async (t) => {
  const { givenJob, begin, ledger } = await openDesk(t);
  await givenJob(2500, ({ itemId, seq }) => {
    if (seq % 5 === 0) return failedOn(`old/items/${itemId}/html.html`);
    return seq % 5 === 1 ? failedWith('timeout') : scrapedWith(`old/items/${itemId}/html.html`);
  });
  const answer = await begin();
  assert.ok(answer.kind === 'begun');
  assert.deepEqual([answer.job.counts.total, answer.withoutPage], [2000, 500]);
  const items = await allItems(ledger, 'new', {}, 1000);
  const expected = Array.from({ length: 2500 }, (_, seq) => seq).filter((seq) => seq % 5 !== 1);
  assert.deepEqual(
    items.map(({ itemId, source }) => [itemId, source?.html.key]),
    expected.map((seq) => [`p-${seq}`, `old/items/p-${seq}/html.html`]),
  );
  const again = await begin();
  assert.ok(again.kind === 'begun' && !again.isNew);
  assert.equal(again.withoutPage, 500);
});

test('an item that failed and succeeds between two readings of the job is read once', async (t) => {
  const { givenJob, carryOut, ledger, clock } = await openDesk(t);
  await givenJob(3, ({ itemId, seq }) =>
    seq === 1 ? failedOn(`old/items/${itemId}/html.html`) : scrapedWith(`old/items/${itemId}/html.html`),
  );
  const failuresAreRead = Promise.withResolvers<void>();
  const readLate: Pick<ItemBook, 'items'> = {
    async items(...asked) {
      if (asked[1].status === 'failed') return ledger.items(...asked).finally(failuresAreRead.resolve);
      await failuresAreRead.promise;
      await reopenAll(ledger, 'old', {}, { now: clock.now() });
      await carryOut('old', ({ itemId }) => scrapedWith(`old/items/${itemId}/html.html`));
      return ledger.items(...asked);
    },
  };
  const read = (await Array.fromAsync(endedItems(readLate, 'old'))).flat();
  assert.deepEqual(
    read.map(({ itemId, status }) => [itemId, status]),
    ['p-0', 'p-1', 'p-2'].map((id) => [id, 'success']),
  );
});

test('a job without an id of its own gets one, and a page without metadata is read all the same', async (t) => {
  const { givenJob, begin, ledger, jobs } = await openDesk(t);
  await givenJob(1, ({ itemId }) => ({ html: itemId }));
  const answer = await begin({ job_id: undefined });
  assert.ok(answer.kind === 'begun');
  assert.deepEqual(await jobs(), [answer.job.jobId, 'old']);
  assert.equal((await allItems(ledger, answer.job.jobId))[0]?.source?.metadata, null);
});

test('the page on which an item failed is not read: it may be a login form, or a block page', async (t) => {
  const { givenJob, begin } = await openDesk(t);
  const seen = { failed_page: '<form id="login">', visit: {}, failure: failure('blocked', 'no') };
  await givenJob(2, (item) => (item.itemId === 'p-0' ? seen : pageOf(item)));
  const answer = await begin();
  assert.ok(answer.kind === 'begun', JSON.stringify(answer));
  assert.deepEqual([answer.job.counts.total, answer.withoutPage], [1, 1]);
});

test('an impossible re-extraction is refused with the reason, and leaves no job', async (t) => {
  const { givenJob, begin, jobs } = await openDesk(t);
  assert.deepEqual(await begin(), { kind: 'missing' });
  await givenJob(2, () => ({ data: {} }));
  const message = async (request: object = {}) => {
    const answer = await begin(request);
    if (answer.kind === 'bad') return answer.problems.map(({ path, message: text }) => `${path}: ${text}`).join();
    return answer.kind === 'nothing' ? answer.message : answer.kind;
  };
  assert.equal(await message(), 'none of the 2 finished items of old has a stored page (results.keep_html)');
  assert.equal(
    await message({ scraper_id: 'nobody' }),
    'scraper_id: there is no scraper nobody; GET /scrapers lists all',
  );
  assert.equal(await message({ scraper_id: 'broken' }), 'scraper_id: broken.ts cannot be loaded');
  assert.equal(
    await message({ scraper_id: 'plain' }),
    'scraper_id: plain cannot parse stored pages: it has no parse function',
  );
  assert.deepEqual(await jobs(), ['old']);
});

test('a job that kept no page, one that still runs and one that is a re-extraction itself have nothing to read', async (t) => {
  const { givenJob, begin, carryOut, jobs } = await openDesk(t);
  const from = async (jobId: string) => {
    const answer = await begin({ job_id: 'other' }, { from: jobId });
    return answer.kind === 'nothing' ? answer.message : answer.kind;
  };
  await givenJob(1, () => failedWith('not_found'), { jobId: 'failed' });
  assert.match(await from('failed'), /^none of the 1 finished items of failed has a stored page/);
  await givenJob(1, () => SKIPPED, { jobId: 'skipped' });
  assert.match(await from('skipped'), /^no item of the job skipped has succeeded or failed/);
  await givenJob(0, pageOf, { jobId: 'fresh' });
  assert.match(await from('fresh'), /^the job fresh is still running/);
  await givenJob(1, pageOf);
  await begin();
  await carryOut('new', () => ({ data: {}, metadata: {} }));
  assert.equal(await from('new'), 'the job new keeps no pages, because it is a re-extraction: extract old');
  assert.ok(!(await jobs()).includes('other'));
});

test('a call that dies halfway leaves a held job, which the same call completes, each item once', async (t) => {
  const { givenJob, begin, ledger } = await openDesk(t);
  await givenJob(2500, onlyNamed);
  let chunks = 0;
  const dies = {
    at() {
      chunks += 1;
      if (chunks === 2) throw new Error('killed');
    },
  };
  await assert.rejects(begin({}, { faults: dies }), /killed/);
  const half = await jobOf(ledger, 'new');
  assert.deepEqual([half.held, half.counts.total], [true, 2000]);
  const answer = await begin();
  assert.ok(answer.kind === 'begun');
  assert.deepEqual(
    [answer.job.held, answer.job.counts.total, answer.withoutPage, answer.isNew],
    [false, 2500, 0, true],
  );
  const ids = (await allItems(ledger, 'new', {}, 1000)).map(({ itemId }) => itemId);
  assert.deepEqual(
    ids,
    (await allItems(ledger, 'old', {}, 1000)).map(({ itemId }) => itemId),
  );
});

test('a call whose answer was lost gets the same answer again, and two at once make one job', async (t) => {
  const { givenJob, begin, ledger } = await openDesk(t);
  await givenJob(1200, (item) => (item.itemId === 'p-7' ? SCRAPED : onlyNamed(item)));
  const [one, two] = await Promise.all([begin(), begin()]);
  const again = await begin();
  const areNew = [one, two, again].map((answer) => {
    assert.ok(answer.kind === 'begun', JSON.stringify(answer));
    assert.deepEqual([answer.job.jobId, answer.job.counts.total, answer.withoutPage], ['new', 1199, 1]);
    return answer.isNew;
  });
  assert.deepEqual([areNew.slice(0, 2).sort(), areNew[2]], [[false, true], false], 'one of them made it');
  assert.equal((await allItems(ledger, 'new', {}, 1000)).length, 1199);
});

test('an id that belongs to something else is refused: another job, other settings, another version', async (t) => {
  const { givenJob, begin, scrapers, ledger } = await openDesk(t);
  await givenJob(1, pageOf);
  assert.equal((await begin({ job_id: 'old' })).kind, 'exists');
  assert.equal((await begin({ labels: { a: '1', b: '2' } })).kind, 'begun');
  assert.equal((await begin({ labels: { b: '2', a: '1' } })).kind, 'begun');
  assert.equal((await begin({ labels: {} })).kind, 'exists');
  scrapers.set('demo', { id: 'demo', version: '3.0.0', lane: 'http', canExtract: true });
  assert.equal((await begin({ labels: { a: '1', b: '2' } })).kind, 'exists');
  assert.equal((await jobOf(ledger, 'new')).scraperVersion, '2.0.0');
});

test('a job that was cancelled while it was being created stays cancelled', async (t) => {
  const { givenJob, begin, ledger } = await openDesk(t);
  await givenJob(1500, onlyNamed);
  const cancels = { at: async () => void (await ledger.changeJob('new', { kind: 'cancel' }, 1)) };
  const answer = await begin({}, { faults: cancels });
  assert.deepEqual(answer, {
    kind: 'nothing',
    message: 'the job new was cancelled or deleted while it was being created',
  });
  assert.equal((await jobOf(ledger, 'new')).status, 'cancelled');
});

test('an older job that is deleted meanwhile takes the new one with it', async (t) => {
  const { givenJob, begin, ledger, jobs } = await openDesk(t);
  await givenJob(10, pageOf);
  const deletes = { at: async () => void (await deleteJob(ledger, 'old')) };
  assert.deepEqual(await begin({}, { faults: deletes }), { kind: 'missing' });
  assert.deepEqual(await jobs(), []);
});
