import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FailuresAnswer } from '../../../src/contract/failure-answers.ts';
import type { AddedAnswer, ItemAnswer, ItemDetailAnswer, ItemPageAnswer } from '../../../src/contract/item-answers.ts';
import type { JobAnswer } from '../../../src/contract/job-answers.ts';
import { aboveBackend } from './above-backend.ts';
import { allPages, type Client, noopItems, uniqueId } from './client.ts';
import { completedWithFailures, PATIENT } from './made-jobs.ts';

const NDJSON = 'application/x-ndjson';

/** Adding items to a job, and reading them. */
export function itemCases(client: Client): void {
  const above = aboveBackend(client);
  above('items come as lines of JSON, as CSV and as a JSON array', async () => {
    const jobId = await heldJob(client);
    const lines = '{"item_id":"n-1","input":{"apn":"1"}}\n{"apn":"2"}\n';
    assert.deepEqual(await client.send(jobId, NDJSON, lines), taken(jobId, { received: 2, added: 2 }));
    const csv = 'item_id,apn,owner\r\nc-1,3,"SMITH, JOHN"\r\nc-2,4,\r\n';
    assert.deepEqual(await client.send(jobId, 'text/csv', csv), taken(jobId, { received: 2, added: 2 }));
    const array = JSON.stringify([{ item_id: 'a-1', input: { apn: '5' } }, { input: { apn: '6' } }]);
    const answer = await client.send(jobId, 'application/json; charset=utf-8', array);
    assert.deepEqual(answer, taken(jobId, { received: 2, added: 2 }));
    const items = await allPages<ItemAnswer>(client, `/jobs/${jobId}/items`, 'items');
    assert.deepEqual(
      items.map(({ input }) => input['apn']),
      ['1', '2', '3', '4', '5', '6'],
    );
    assert.deepEqual(items[2]?.input, { apn: '3', owner: 'SMITH, JOHN' });
    assert.equal(new Set(items.map(({ item_id: id }) => id)).size, 6);
  });

  above('items are batched by group where the job asks for it, and both are shown', async () => {
    const sites = ['north', 'north', 'south'].map((group, at) => ({ item_id: `p-${at}`, input: {}, group }));
    const batching = { by: 'group', max_items: 2 } as const;
    const job = { scraper_id: 'example-noop', items: [...sites, ...noopItems(1)], batching, hold: true };
    const { job_id: jobId } = await client.create(job);
    assert.deepEqual((await client.get<JobAnswer>(`/jobs/${jobId}`)).batching, batching);
    const lines = '{"item_id":"q-1","input":{},"group":"south"}\n{"item_id":"q-2","input":{},"group":""}\n';
    const { added, bad_lines: bad } = await client.send<AddedAnswer>(jobId, NDJSON, lines);
    assert.deepEqual([added, bad.length, bad[0]?.line], [1, 1, 2]);
    const items = await allPages<ItemAnswer>(client, `/jobs/${jobId}/items`, 'items');
    assert.deepEqual(
      items.map(({ group }) => group),
      ['north', 'north', 'south', undefined, 'south'],
    );
    assert.equal((await client.get<ItemDetailAnswer>(`/jobs/${jobId}/items/p-2`)).group, 'south');
    await client.ask('POST', `/jobs/${jobId}/start`);
    assert.equal((await client.ended(jobId)).summary.success, 5);

    const { job_id: plain } = await client.create({ scraper_id: 'example-noop', items: noopItems(1), hold: true });
    assert.equal((await client.get<JobAnswer>(`/jobs/${plain}`)).batching, null);
  });

  above('bad lines are reported by number, and the good ones are kept', async () => {
    const jobId = await heldJob(client, 'example-mock');
    const lines = ['{"apn":"1"}', '{"apn":', '{"apn":7}', '"text"', '[1]', '{"apn":"3"}'];
    const answer = await client.send<AddedAnswer>(jobId, NDJSON, `${lines.join('\n')}\n`);
    assert.deepEqual([answer.received, answer.added, answer.bad], [6, 2, 4]);
    assert.deepEqual(
      answer.bad_lines.map(({ line }) => line),
      [2, 3, 4, 5],
    );
    assert.match(answer.bad_lines[1]?.problem ?? '', /apn/);
    const items = await allPages<ItemAnswer>(client, `/jobs/${jobId}/items`, 'items');
    assert.deepEqual(
      items.map(({ input }) => input['apn']),
      ['1', '3'],
    );
  });

  above('with a limit the first items are added, and the answer comes although the body continues', async () => {
    const jobId = await heldJob(client);
    const endless = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(Buffer.from(linesOf(noopItems(1000)))),
    });
    const sending = { body: endless, headers: { 'content-type': NDJSON } };
    const { status, json } = await client.ask('POST', `/jobs/${jobId}/items?limit=3`, sending);
    assert.deepEqual([status, json], [200, taken(jobId, { received: 3, added: 3 })]);
    assert.equal((await client.get<JobAnswer>(`/jobs/${jobId}`)).summary.total, 3);
    assert.equal((await client.ask('POST', `/jobs/${jobId}/items?limit=0`, { body: '', headers: {} })).status, 422);
  });

  above('columns of a CSV are mapped, and those that the scraper does not know are ignored by name', async () => {
    const jobId = await heldJob(client, 'demo-parcel');
    const path = `/jobs/${jobId}/items?columns=${encodeURIComponent('apn=Parcel No')}`;
    const csv = { headers: { 'content-type': 'text/csv' }, body: 'Parcel No,Owner\n101-01-001,SMITH\n' };
    const { status, json } = await client.ask('POST', path, csv);
    assert.deepEqual([status, json], [200, taken(jobId, { received: 1, added: 1, ignored_columns: ['Owner'] })]);
    const { input } = await client.get<ItemAnswer>(`/jobs/${jobId}/items/101-01-001`);
    assert.deepEqual(input, { apn: '101-01-001' });

    const { detail } = await client.refused(422, 'invalid_request', 'POST', `${path}&strict=true`, csv);
    assert.match(detail, /demo-parcel does not know these columns: Owner/);
    const { errors } = await client.refused(422, 'invalid_request', 'POST', `/jobs/${jobId}/items?columns=apn`, csv);
    assert.deepEqual(errors?.[0], {
      path: 'columns',
      code: 'invalid_value',
      message: '"apn" must be field=column, such as parid=APN',
    });
    const lines = { headers: { 'content-type': NDJSON }, body: '{"apn":"1"}\n' };
    const other = await client.refused(422, 'invalid_request', 'POST', path, lines);
    assert.deepEqual(other.errors?.[0]?.message, 'is only for CSV');
  });

  above('a CSV without a header row is refused with what to do, and nothing is added', async () => {
    const jobId = await heldJob(client, 'demo-parcel');
    const csv = { headers: { 'content-type': 'text/csv' }, body: '101-01-001\n101-01-002\n' };
    const { detail } = await client.refused(422, 'invalid_request', 'POST', `/jobs/${jobId}/items`, csv);
    assert.match(
      detail,
      /no header row: its first row \(101-01-001\) looks like data\. Add a first row .* knows apn\.$/,
    );
    assert.equal((await client.get<JobAnswer>(`/jobs/${jobId}`)).summary.total, 0);
  });

  above('if many lines are bad, the first hundred are listed and all are counted', async () => {
    const jobId = await heldJob(client);
    const answer = await client.send<AddedAnswer>(jobId, NDJSON, '{\n'.repeat(250));
    assert.deepEqual([answer.bad, answer.bad_lines.length, answer.added], [250, 100, 0]);
  });

  test('items that the job already has are left alone, so that an upload may be sent again', async () => {
    const jobId = await heldJob(client);
    const file = linesOf(noopItems(2500));
    assert.equal((await client.send<AddedAnswer>(jobId, NDJSON, file)).added, 2500);
    const again = await client.send(jobId, NDJSON, file + linesOf(noopItems(3, 2500)));
    assert.deepEqual(again, taken(jobId, { received: 2503, added: 3, duplicates: 2500 }));
    assert.equal((await client.get<JobAnswer>(`/jobs/${jobId}`)).summary.total, 2503);
  });

  above('an id that comes with another input is named, and the job keeps the input that it has', async () => {
    const jobId = await heldJob(client);
    await client.send(jobId, NDJSON, linesOf(noopItems(150)));
    const changed = noopItems(152).map(({ item_id }, n) => ({ item_id, input: { n, changed: n >= 20 } }));
    const sameButTurned = { item_id: 'turned', input: { b: 2, a: 1 } };
    const lines = linesOf([...changed, { item_id: 'turned', input: { a: 1, b: 2 } }, sameButTurned]);
    const answer = await client.send<AddedAnswer>(jobId, NDJSON, lines);
    assert.deepEqual([answer.added, answer.duplicates, answer.conflicts], [3, 151, 150]);
    assert.deepEqual(
      answer.conflicting_ids,
      changed.slice(0, 100).map(({ item_id }) => item_id),
    );
    const { input } = await client.get<ItemAnswer>(`/jobs/${jobId}/items/${changed[30]?.item_id}`);
    assert.deepEqual(input, noopItems(31)[30]?.input);
  });

  test('a failed item that comes with another input runs again with it, and the answer names it', async () => {
    const typed = (types: Readonly<Record<string, string>>) =>
      Object.entries(types).map(([item_id, type]) => ({ item_id, input: { type } }));
    const items = typed({ a: 'not_found', b: 'not_found', c: 'not_found' });
    const { job_id: jobId } = await client.run({ scraper_id: 'example-fail', items });
    const corrected = linesOf(typed({ a: 'not_found', b: 'no_results', d: 'no_results' }));
    const answer = await client.send(jobId, NDJSON, corrected);
    const counts = { received: 3, added: 1, duplicates: 2, replaced: 1, replaced_ids: ['b'] };
    assert.deepEqual(answer, taken(jobId, counts));
    await client.ended(jobId);
    const job = await client.get<JobAnswer>(`/jobs/${jobId}`);
    assert.deepEqual([job.round, job.summary.failed, job.summary.total], [2, 4, 4]);
    const b = await client.get<ItemDetailAnswer>(`/jobs/${jobId}/items/b`);
    assert.deepEqual([b.input, b.error?.type, b.attempts], [{ type: 'no_results' }, 'no_results', 2]);
    assert.deepEqual(
      b.history.map(({ error }) => error?.type),
      ['not_found', 'no_results'],
    );
    const a = await client.get<ItemDetailAnswer>(`/jobs/${jobId}/items/a`);
    assert.deepEqual([a.input, a.attempts], [{ type: 'not_found' }, 1]);
    // Sent again, it is the input that the job has.
    assert.deepEqual(await client.send(jobId, NDJSON, corrected), taken(jobId, { received: 3, duplicates: 3 }));
  });

  test('more items reopen a completed job, and nothing is done twice', async () => {
    const { job_id: jobId } = await client.run({ scraper_id: 'example-noop', items: noopItems(3) });
    const before = await client.get<JobAnswer>(`/jobs/${jobId}`);
    assert.deepEqual([before.status, before.round, before.results.ready], ['completed', 1, true]);
    await client.send(jobId, NDJSON, linesOf(noopItems(4)));
    const { status, summary } = await client.ended(jobId);
    assert.deepEqual([status, summary.success, summary.total], ['completed', 4, 4]);
    const after = await client.get<JobAnswer>(`/jobs/${jobId}`);
    assert.deepEqual([after.round, after.results.ready], [2, true]);
    const items = await allPages<ItemAnswer>(client, `/jobs/${jobId}/items`, 'items');
    assert.deepEqual(
      items.map(({ attempts }) => attempts),
      [1, 1, 1, 1],
    );
  });

  above('an upload of nothing, or of duplicates only, leaves a completed job as it is', async () => {
    const { job_id: jobId } = await client.run({ scraper_id: 'example-noop', items: noopItems(2) });
    await client.send(jobId, NDJSON, '');
    await client.send(jobId, NDJSON, linesOf(noopItems(2)));
    const { status, round, summary } = await client.get<JobAnswer>(`/jobs/${jobId}`);
    assert.deepEqual([status, round, summary.total], ['completed', 1, 2]);
  });

  test('an upload is processed while it is still arriving, and the job is not over before its last line', async () => {
    const { job_id: jobId } = await client.create({ scraper_id: 'example-noop' });
    const { promise: isFirstDone, resolve: firstDone } = Promise.withResolvers<void>();
    const body = new ReadableStream<Uint8Array>({
      async start(lines) {
        lines.enqueue(new TextEncoder().encode(linesOf(noopItems(1000))));
        await isFirstDone;
        lines.enqueue(new TextEncoder().encode(linesOf(noopItems(1, 1000))));
        lines.close();
      },
    });
    const headers = { 'content-type': NDJSON };
    const uploaded = client.ask('POST', `/jobs/${jobId}/items`, { body, headers });
    const { status } = await client.until(jobId, ({ data }) => data.summary?.success === 1000);
    assert.equal(status, 'in_progress');
    firstDone();
    assert.deepEqual((await uploaded).json, taken(jobId, { received: 1001, added: 1001 }));
    const { status: last, summary } = await client.ended(jobId);
    assert.deepEqual([last, summary.success], ['completed', 1001]);
    assert.equal((await client.get<JobAnswer>(`/jobs/${jobId}`)).round, 1);
  });

  above('an upload to a job that is cancelled meanwhile is refused before its last line', async () => {
    const { job_id: jobId } = await client.create({ scraper_id: 'example-noop' });
    const { promise: isCancelled, resolve: cancelled } = Promise.withResolvers<void>();
    const body = new ReadableStream<Uint8Array>({
      async start(lines) {
        lines.enqueue(new TextEncoder().encode(linesOf(noopItems(1000))));
        await isCancelled;
        // Then nothing comes: the sender has more, and waits.
        lines.enqueue(new TextEncoder().encode(linesOf(noopItems(2000, 1000))));
      },
    });
    const asked = { body, headers: { 'content-type': NDJSON } };
    const refused = client.refused(409, 'state_conflict', 'POST', `/jobs/${jobId}/items`, asked);
    await client.until(jobId, ({ data }) => data.summary?.success === 1000);
    await client.post(`/jobs/${jobId}/cancel`);
    cancelled();
    assert.match((await refused).detail, /cancelled.* 1000 of this request were added/);
    assert.equal((await client.get<JobAnswer>(`/jobs/${jobId}`)).summary.total, 1000);
  });

  test('items in an unsupported content type are refused', async () => {
    const jobId = await heldJob(client);
    const send = (headers: Record<string, string>) =>
      client.refused(415, 'unsupported_media_type', 'POST', `/jobs/${jobId}/items`, { body: '{}\n', headers });
    await send({ 'content-type': 'text/html' });
    await send({ 'content-type': 'application/xml; charset=utf-8' });
    assert.equal((await client.get<JobAnswer>(`/jobs/${jobId}`)).summary.total, 0);
  });

  test('bytes that are not a JSON array are refused; an array that breaks off is reported with the entry', async () => {
    const jobId = await heldJob(client);
    const headers = { 'content-type': 'application/json' };
    await client.refused(422, 'invalid_request', 'POST', `/jobs/${jobId}/items`, { body: '{"apn":"1"}', headers });
    const broken = '[{"apn":"1"},{"apn":"2"} {"apn":"3"},{"apn":"4"}]';
    const { added, bad_lines: bad } = await client.send<AddedAnswer>(jobId, 'application/json', broken);
    assert.deepEqual([added, bad.length, bad[0]?.line], [2, 1, 3]);
    assert.match(bad[0]?.problem ?? '', /nothing from there on was read/);
  });

  test('items are listed by status and by type of error, page by page', async () => {
    const jobId = await completedWithFailures(client, { good: 5, server_error: 4, no_results: 3 });
    const listed = async (query: string) => {
      const items = await allPages<ItemAnswer>(client, `/jobs/${jobId}/items?limit=2${query}`, 'items');
      return items.map(({ item_id: id }) => id);
    };
    const good = ['i-0', 'i-1', 'i-2', 'i-3', 'i-4'];
    const broken = ['server_error-0', 'server_error-1', 'server_error-2', 'server_error-3'];
    const without = ['no_results-0', 'no_results-1', 'no_results-2'];
    assert.deepEqual(await listed(''), [...good, ...broken, ...without]);
    assert.deepEqual(await listed('&status=success'), good);
    assert.deepEqual(await listed('&status=failed'), [...broken, ...without]);
    assert.deepEqual(await listed('&error_type=no_results'), without);
    assert.deepEqual(await listed('&status=failed&error_type=server_error'), broken);
    assert.deepEqual(await listed('&status=success&error_type=server_error'), []);
    assert.deepEqual(await listed('&status=pending'), []);
    const { next_cursor: cursor } = await client.get<ItemPageAnswer>(`/jobs/${jobId}/items?limit=2&status=failed`);
    const other = `/jobs/${jobId}/items?status=success&cursor=${cursor}`;
    await client.refused(422, 'invalid_request', 'GET', other);
    await client.refused(422, 'invalid_request', 'GET', `/jobs/${jobId}/items?error_type=oops`);
  });

  test('an item shows every attempt, with what it stored or why it failed', async () => {
    const jobId = await completedWithFailures(client, { good: 1, server_error: 1 });
    await client.post(`/jobs/${jobId}/retry`);
    await client.ended(jobId);
    const failed = await client.get<ItemDetailAnswer>(`/jobs/${jobId}/items/server_error-0`);
    assert.deepEqual([failed.status, failed.attempts, failed.history.length], ['failed', 2, 2]);
    const error = { type: 'server_error', message: 'item server_error-0 fails', retryable: true, cause: null };
    assert.deepEqual(failed.error, error);
    assert.deepEqual(
      failed.history.map((each) => [each.attempt, each.status, each.error?.type]),
      [
        [1, 'failed', 'server_error'],
        [2, 'failed', 'server_error'],
      ],
    );
    assert.equal(failed.first_attempt_at, failed.history[0]?.started_at);
    assert.equal(failed.last_attempt_at, failed.history[1]?.started_at);
    const good = await client.get<ItemDetailAnswer>(`/jobs/${jobId}/items/i-0`);
    assert.deepEqual([good.status, good.error, good.attempts, good.scraper_version], ['success', null, 1, '2.0.0']);
    assert.deepEqual(good.artifacts.map(({ kind }) => kind).sort(), ['data', 'html', 'metadata']);
    assert.deepEqual(
      failed.artifacts.map(({ kind }) => kind),
      ['metadata'],
    );
    const metadata = await client.get<Record<string, unknown>>(
      `/jobs/${jobId}/items/server_error-0/download?artifact=metadata`,
    );
    assert.partialDeepStrictEqual(metadata, { item_id: 'server_error-0', attempt: 2, scraper_id: 'test-mixed', error });
    await client.refused(404, 'item_not_found', 'GET', `/jobs/${jobId}/items/nobody`);
  });

  above(
    'an item that was tried more than ten times shows how often, and the outcomes of the last ten attempts',
    async () => {
      const jobId = await completedWithFailures(client, { good: 0, no_results: 1 });
      for (let round = 2; round <= 12; round += 1) {
        await client.post(`/jobs/${jobId}/retry`);
        await client.ended(jobId);
      }
      const item = await client.get<ItemDetailAnswer>(`/jobs/${jobId}/items/no_results-0`);
      assert.deepEqual([item.status, item.attempts], ['failed', 12]);
      // On a busy machine a lease may run out, and the item may be handed out again.
      assert.ok(item.deliveries >= 12, `${item.deliveries} deliveries`);
      assert.deepEqual(
        item.history.map(({ attempt }) => attempt),
        [3, 4, 5, 6, 7, 8, 9, 10, 11, 12],
      );
      assert.equal(item.last_attempt_at, item.history.at(-1)?.started_at);
      const { items } = await client.get<ItemPageAnswer>(`/jobs/${jobId}/items`);
      assert.equal(items[0]?.attempts, 12);
    },
  );

  test('an item is found by any id that it can have', async () => {
    const ids = ['../../etc/passwd', 'ünïcode ☃', 'a/b?c=d#e', '%2e%2e', '..', 'x'.repeat(1000)];
    const items = ids.map((item_id) => ({ item_id, input: {} }));
    const { job_id: jobId } = await client.run({ job_id: uniqueId('odd ids?/'), scraper_id: 'test-mixed', items });
    for (const id of ids) {
      // A path of dots alone does not survive a client that normalizes paths.
      if (id === '..') continue;
      const path = `/jobs/${encodeURIComponent(jobId)}/items/${encodeURIComponent(id)}`;
      assert.equal((await client.get<ItemDetailAnswer>(path)).item_id, id);
      assert.equal((await client.ask('GET', `${path}/download?artifact=html`)).text.includes(id), true);
    }
  });

  test('the page of a failure is linked by its group, listed with its item, and downloaded by either name', async () => {
    const page = `<h1>blocked</h1>${'<p>go away</p>'.repeat(200)}`;
    const items = [
      { item_id: 'seen/1', input: { type: 'blocked', page } },
      { item_id: 'unseen', input: { type: 'no_results' } },
    ];
    const job_id = uniqueId('pages?of failures');
    await client.run({ job_id, scraper_id: 'test-mixed', items, execution_policy: PATIENT });
    const path = `/jobs/${encodeURIComponent(job_id)}`;
    const { groups } = await client.get<FailuresAnswer>(`${path}/failures`);
    const pages = new Map(groups.flatMap(({ examples }) => examples.map((each) => [each.item_id, each.page] as const)));
    assert.equal(pages.get('unseen'), null);
    const { text, headers } = await client.ask('GET', pages.get('seen/1') ?? '');
    assert.equal(text, page);
    assert.match(headers.get('content-disposition') ?? '', /failed_page\.html/);
    const item = `${path}/items/seen%2F1`;
    assert.equal((await client.ask('GET', `${item}/download?artifact=html`)).text, page);
    const { artifacts } = await client.get<ItemDetailAnswer>(item);
    assert.deepEqual(
      artifacts.map(({ kind, encoding }) => [kind, encoding]),
      [
        ['metadata', 'identity'],
        ['failed_page', 'gzip'],
      ],
    );
    await client.refused(404, 'artifact_not_found', 'GET', `${path}/items/unseen/download?artifact=html`);
  });

  test('failures are grouped, most frequent first, with examples', async () => {
    const jobId = await completedWithFailures(client, { good: 1, no_results: 2, server_error: 4 });
    const { failed, groups } = await client.get<FailuresAnswer>(`/jobs/${jobId}/failures`);
    assert.equal(failed, 6);
    assert.deepEqual(
      groups.map(({ type, count, retryable }) => [type, count, retryable]),
      [
        ['server_error', 4, true],
        ['no_results', 2, false],
      ],
    );
    assert.equal(groups[0]?.examples[0]?.message, `item ${groups[0]?.examples[0]?.item_id} fails`);
    for (const { id, first_at, last_at } of groups) {
      assert.match(id, /^[0-9a-f]{12}$/);
      assert.ok(first_at !== null && last_at !== null && first_at <= last_at, `${first_at} ${last_at}`);
    }
    const { groups: one } = await client.get<FailuresAnswer>(`/jobs/${jobId}/failures?limit=1`);
    assert.deepEqual(one, groups.slice(0, 1));
  });
}

function taken(jobId: string, counts: Partial<AddedAnswer>): AddedAnswer {
  const known = { duplicates: 0, replaced: 0, replaced_ids: [], conflicts: 0, conflicting_ids: [] };
  const none = { received: 0, added: 0, ...known, bad: 0, bad_lines: [] };
  return { job_id: jobId, ...none, ignored_columns: [], incomplete: false, ...counts };
}

async function heldJob(client: Client, scraper = 'example-noop'): Promise<string> {
  return (await client.create({ job_id: uniqueId('filled'), scraper_id: scraper, hold: true })).job_id;
}

export function linesOf(entries: readonly object[]): string {
  return entries.map((entry) => `${JSON.stringify(entry)}\n`).join('');
}
