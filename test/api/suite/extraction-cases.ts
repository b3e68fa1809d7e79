import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ChangesAnswer, ComparisonAnswer, ExtractedAnswer } from '../../../src/contract/extraction-answers.ts';
import type { ItemDetailAnswer } from '../../../src/contract/item-answers.ts';
import type { JobAnswer, JobStatusAnswer } from '../../../src/contract/job-answers.ts';
import type { ResultPartAnswer } from '../../../src/contract/result-answers.ts';
import { untilTrue } from '../../support/until.ts';
import { aboveBackend } from './above-backend.ts';
import { type Client, uniqueId } from './client.ts';
import { completedWithFailures, PATIENT } from './made-jobs.ts';

const AGAIN = 'test-kept-again';

/** A newer parse of stored pages. Its scraper may visit no site, so that any request it made would fail. */
export function extractionCases(client: Client): void {
  const above = aboveBackend(client);
  above('pages with names are downloaded one by one, and read again together', async () => {
    const items = [
      { item_id: 'ann', input: { owner: 'Ann', tax: 5 } },
      { item_id: 'bob', input: { owner: 'Bob', tax: -1 } },
    ];
    const { job_id: source } = await client.create({ job_id: uniqueId('pages'), scraper_id: 'test-pages', items });
    await client.ended(source);
    const { artifacts, status } = await client.get<ItemDetailAnswer>(`/jobs/${source}/items/bob`);
    assert.equal(status, 'failed');
    assert.deepEqual(
      artifacts.map(({ kind, name, key, href }) => [kind, name, placeOf(key), href.split('?')[1]]),
      [
        ['page', 'profile', 'bob/pages/profile.html', 'artifact=page:profile'],
        ['page', 'taxes', 'bob/pages/taxes.json', 'artifact=page:taxes'],
        ['metadata', undefined, 'bob/metadata.json', 'artifact=metadata'],
      ],
    );
    const [profile, taxes] = artifacts;
    assert.match((await client.ask('GET', profile?.href ?? '')).text, /^<p class="owner">Bob/);
    assert.deepEqual((await client.ask('GET', taxes?.href ?? '')).json, { tax: -1 });
    const download = `/jobs/${source}/items/bob/download`;
    await client.refused(404, 'artifact_not_found', 'GET', `${download}?artifact=page:sales`);
    for (const label of ['page', 'page:', 'page:../x', 'html:taxes']) {
      await client.refused(422, 'invalid_request', 'GET', `${download}?artifact=${label}`);
    }

    const again = await extract(client, source, { scraper_id: 'test-pages-again' });
    assert.deepEqual([again.seeded_count, again.without_page], [2, 0]);
    await client.ended(again.job_id);
    assert.equal((await completeChanges(client, again.job_id)).recovered, 1);
    await client.post<JobStatusAnswer>(`/jobs/${again.job_id}/replace`);
    await client.ended(source);
    const { summary } = await client.get<JobAnswer>(`/jobs/${source}`);
    assert.deepEqual([summary.success, summary.failed], [2, 0]);
    for (const [itemId, data] of Object.entries({ ann: { owner: 'ANN', tax: 5 }, bob: { owner: 'BOB', tax: 0 } })) {
      const path = `/jobs/${source}/items/${itemId}/download?artifact=data`;
      assert.deepEqual((await client.ask('GET', path)).json, data);
    }
  });

  test('a re-extraction reads what was stored and shows what changed, and its data replace the old data', async () => {
    const source = await kept(client, [
      { item_id: 'prefixed', input: { owner: 'c/o SMITH' } },
      { item_id: 'noted', input: { owner: 'c/o JONES', note: 'two lots' } },
      { item_id: 'same', input: { owner: 'BROWN' } },
      { item_id: 'illegible', input: { owner: 'c/o GREEN', illegible: true } },
      { item_id: 'pageless', input: { owner: 'c/o WHITE', pageless: true } },
      { item_id: 'nobody', input: {} },
    ]);
    const before = await ownersOf(client, source);
    const old = { prefixed: 'c/o SMITH', noted: 'c/o JONES', same: 'BROWN', illegible: 'c/o GREEN' };
    assert.deepEqual(before, { ...old, pageless: 'c/o WHITE', nobody: null });

    const begun = await extract(client, source, { job_id: uniqueId('again') });
    assert.deepEqual([begun.extracts, begun.scraper_id, begun.scraper_version], [source, AGAIN, '2.0.0']);
    assert.deepEqual([begun.seeded_count, begun.without_page], [4, 2]);
    const again = begun.job_id;
    const { status, summary } = await client.ended(again);
    assert.deepEqual([status, summary.success, summary.failed, summary.total], ['completed', 3, 1, 4]);
    assert.equal((await client.get<JobAnswer>(`/jobs/${again}`)).input.extracts, source);

    const changes = await completeChanges(client, again);
    assert.deepEqual(changes, {
      ...{ job_id: again, extracts: source, state: 'complete', replaced: false },
      ...{ compared: 3, total: 3, changed: 2, failed: 1, recovered: 0 },
      fields: [
        {
          ...{ field: 'owner', items: 2, added: 0, removed: 0 },
          examples: [
            { item_id: 'prefixed', before: 'c/o SMITH', after: 'SMITH' },
            { item_id: 'noted', before: 'c/o JONES', after: 'JONES' },
          ],
        },
        {
          ...{ field: 'note', items: 1, added: 1, removed: 0 },
          examples: [{ item_id: 'noted', before: null, after: 'two lots' }],
        },
      ],
    });
    assert.deepEqual(await ownersOf(client, source), before, 'until they are replaced, the old data stand');
    assert.equal((await client.get<JobAnswer>(`/jobs/${source}`)).replaced_by, null);

    // Requested twice, it is done once.
    for (let said = 0; said < 2; said += 1) {
      assert.equal((await client.post<JobStatusAnswer>(`/jobs/${again}/replace`)).job_id, source);
      await client.ended(source);
    }
    const after = await client.get<JobAnswer>(`/jobs/${source}`);
    assert.deepEqual([after.replaced_by, after.status, after.results.ready], [again, 'completed', true]);
    assert.deepEqual([after.summary.success, after.summary.failed], [5, 1], 'how items ended is their own');
    assert.equal((await completeChanges(client, again)).replaced, true);
    const now = { ...before, prefixed: 'SMITH', noted: 'JONES' };
    assert.deepEqual(await ownersOf(client, source), now, 'an item that could not be read anew keeps its data');
    await assertHandedOut(client, source, { prefixed: 'SMITH', same: 'BROWN', illegible: 'c/o GREEN' });
    for (const [itemId, madeBy] of Object.entries({ prefixed: [AGAIN, '2.0.0'], illegible: ['test-kept', '1.0.0'] })) {
      const { scraper_id: id, scraper_version: version } = await client.get<ItemDetailAnswer>(
        `/jobs/${source}/items/${itemId}`,
      );
      assert.deepEqual([id, version], madeBy);
    }
  });

  above('two runs of a list are compared item by item', async () => {
    const older = await kept(client, [
      { item_id: 'same', input: { owner: 'BROWN' } },
      { item_id: 'sold', input: { owner: 'SMITH' } },
      { item_id: 'gone', input: { owner: 'GREEN' } },
    ]);
    const newer = await kept(client, [
      { item_id: 'same', input: { owner: 'BROWN' } },
      { item_id: 'sold', input: { owner: 'JONES' } },
      { item_id: 'built', input: { owner: 'WHITE' } },
    ]);
    const path = `/jobs/${newer}/compare?with=${older}`;
    await untilTrue(async () => (await client.get<ComparisonAnswer>(path)).state === 'complete');
    const { compared, changed, appeared_examples, vanished_examples, fields } =
      await client.get<ComparisonAnswer>(path);
    assert.deepEqual([compared, changed, appeared_examples, vanished_examples], [2, 1, ['built'], ['gone']]);
    assert.deepEqual(fields[0]?.examples, [{ item_id: 'sold', before: 'SMITH', after: 'JONES' }]);
    await client.refused(404, 'job_not_found', 'GET', `/jobs/${newer}/compare?with=nobody`);
    await client.refused(422, 'invalid_request', 'GET', `/jobs/${newer}/compare`);
  });

  above('items that failed keep their page, and become successes with a parse that can read it', async () => {
    const source = await kept(client, [
      { item_id: 'good', input: { owner: 'c/o SMITH' } },
      { item_id: 'broken', input: { owner: 'c/o JONES', broken: true } },
      { item_id: 'illegible', input: { owner: 'c/o GREEN', broken: true, illegible: true } },
      { item_id: 'nobody', input: {} },
    ]);
    const failed = await client.get<ItemDetailAnswer>(`/jobs/${source}/items/broken`);
    assert.deepEqual([failed.status, failed.error?.type], ['failed', 'structure_changed']);
    assert.deepEqual(failed.artifacts.map(({ kind }) => kind).sort(), ['html', 'metadata']);
    const page = await client.ask('GET', `/jobs/${source}/items/broken/download?artifact=html`);
    assert.equal(page.text, '<p class="owner">c/o JONES</p>');
    const { json: metadata } = await client.ask('GET', `/jobs/${source}/items/nobody/download?artifact=metadata`);
    assert.partialDeepStrictEqual(metadata, { item_id: 'nobody', attempt: 1, error: { type: 'no_results' } });

    const begun = await extract(client, source);
    assert.deepEqual([begun.seeded_count, begun.without_page], [3, 1]);
    await client.ended(begun.job_id);
    const changes = await completeChanges(client, begun.job_id);
    assert.deepEqual([changes.compared, changes.changed, changes.recovered, changes.failed], [2, 2, 1, 1]);
    const { summary: replaced } = await client.post<JobStatusAnswer>(`/jobs/${begun.job_id}/replace`);
    assert.deepEqual([replaced.success, replaced.failed, replaced.total], [2, 2, 4]);
    await client.ended(source);
    const { summary, recovering, errors } = await client.get<JobAnswer>(`/jobs/${source}`);
    assert.deepEqual([summary.success, summary.failed, recovering, errors.length], [2, 2, false, 2]);
    assert.deepEqual(await ownersOf(client, source), { good: 'SMITH', broken: 'JONES', illegible: null, nobody: null });
    await assertHandedOut(client, source, { good: 'SMITH', broken: 'JONES' });
    const { items } = await client.get<{ items: ItemDetailAnswer[] }>(`/jobs/${source}/items?status=success`);
    assert.deepEqual(
      items.map(({ item_id }) => item_id),
      ['good', 'broken'],
    );
    const recovered = await client.get<ItemDetailAnswer>(`/jobs/${source}/items/broken`);
    assert.deepEqual(
      recovered.history.map(({ attempt, status, error }) => [attempt, status, error?.type]),
      [
        [1, 'failed', 'structure_changed'],
        [2, 'success', undefined],
      ],
    );
    assert.deepEqual([recovered.scraper_id, recovered.scraper_version], [AGAIN, '2.0.0']);
    const { items: left } = await client.post<{ items: number }>(`/jobs/${source}/retry`, { preview: true });
    assert.equal(left, 2, 'what was recovered is not tried again');
    await client.refused(409, 'state_conflict', 'DELETE', `/jobs/${begun.job_id}`);
  });

  test('data that replace those of another job are not deleted before that job', async () => {
    const source = await kept(client, [{ item_id: 'one', input: { owner: 'c/o SMITH' } }]);
    const { job_id: again } = await extract(client, source);
    await client.ended(again);
    await client.post(`/jobs/${again}/replace`);
    await client.ended(source);
    const { detail } = await client.refused(409, 'state_conflict', 'DELETE', `/jobs/${again}`);
    assert.ok(detail.includes(source), detail);
    assert.deepEqual(await ownersOf(client, source), { one: 'SMITH' });
    for (const jobId of [source, again]) await client.deleteJob(jobId);
  });

  above('a re-extraction that replaced nothing may be deleted; one whose source is gone replaces nothing', async () => {
    const source = await kept(client, [{ item_id: 'one', input: { owner: 'c/o SMITH' } }]);
    const [first, second] = [await extract(client, source), await extract(client, source)];
    for (const { job_id: jobId } of [first, second]) await client.ended(jobId);
    await client.deleteJob(first.job_id);
    assert.deepEqual(await ownersOf(client, source), { one: 'c/o SMITH' });
    await client.deleteJob(source);
    await client.refused(409, 'state_conflict', 'POST', `/jobs/${second.job_id}/replace`);
    assert.deepEqual(await ownersOf(client, second.job_id), { one: 'SMITH' });
  });

  above('the same request again finds the job of the first; a different one under its id is refused', async () => {
    const source = await kept(client, [
      { item_id: 'one', input: { owner: 'SMITH' } },
      { item_id: 'pageless', input: { owner: 'WHITE', pageless: true } },
    ]);
    const path = `/jobs/${source}/extract`;
    const json = { job_id: uniqueId('twice'), scraper_id: AGAIN, labels: { why: 'twice' } };
    const first = await client.ask('POST', path, { json });
    assert.deepEqual([first.status, first.headers.get('location')], [201, `/jobs/${json.job_id}`], first.text);
    await client.ended(json.job_id);
    const second = await client.ask('POST', path, { json });
    assert.equal(second.status, 200, second.text);
    assert.deepEqual(second.json, { ...(first.json as ExtractedAnswer), status: 'completed' });
    const { round, summary } = await client.get<JobAnswer>(`/jobs/${json.job_id}`);
    assert.deepEqual([round, summary.total], [1, 1]);
    await client.refused(409, 'job_exists', 'POST', path, { json: { ...json, labels: {} } });
    await client.refused(409, 'job_exists', 'POST', path, { json: { ...json, job_id: source } });
  });

  above('a running re-extraction replaces nothing and accepts no items, and its source stays', async () => {
    const slow = Array.from({ length: 30 }, (_, n) => ({ item_id: `${n}`, input: { owner: 'SMITH', parse_ms: 200 } }));
    const source = await kept(client, slow);
    const { job_id: again } = await extract(client, source, { max_concurrent_workers: 1 });
    await client.until(again, ({ data }) => data.status === 'in_progress');
    const { detail } = await client.refused(409, 'state_conflict', 'POST', `/jobs/${again}/replace`);
    assert.match(detail, /in_progress/);
    assert.equal((await client.get<ChangesAnswer>(`/jobs/${again}/changes`)).state, 'waiting');
    const { detail: reads } = await client.refused(409, 'state_conflict', 'DELETE', `/jobs/${source}`);
    assert.ok(reads.includes(again), reads);
    await refusesItems(client, again, 30);
    await client.post(`/jobs/${again}/cancel`);
    await client.ended(again);
    await client.refused(409, 'state_conflict', 'POST', `/jobs/${again}/replace`);
    assert.equal((await client.get<JobAnswer>(`/jobs/${source}`)).replaced_by, null);
    await client.deleteJob(source);
  });

  above('a re-extraction that is over accepts no items either', async () => {
    const source = await kept(client, [{ item_id: 'one', input: { owner: 'SMITH' } }]);
    const { job_id: again } = await extract(client, source);
    await client.ended(again);
    await refusesItems(client, again, 1);
    assert.equal((await client.get<JobAnswer>(`/jobs/${again}`)).status, 'completed');
  });

  above('nothing is read before the job has ended, or where no page was stored', async () => {
    const refused = async (jobId: string, says: RegExp) => {
      const json = { scraper_id: AGAIN, job_id: uniqueId('never') };
      const { detail } = await client.refused(409, 'state_conflict', 'POST', `/jobs/${jobId}/extract`, { json });
      assert.match(detail, says);
      await client.refused(404, 'job_not_found', 'GET', `/jobs/${json.job_id}`);
    };
    const items = [{ item_id: 'slow', input: { owner: 'SMITH', ms: 2000 } }];
    const { job_id: held } = await client.create({ scraper_id: 'test-kept', items, hold: true });
    await refused(held, /is still running/);
    await client.post(`/jobs/${held}/start`);
    await client.until(held, ({ data }) => data.summary?.in_progress === 1);
    await refused(held, /is still running/);
    await client.post(`/jobs/${held}/cancel`);

    await refused(await kept(client, [{ item_id: 'nobody', input: {} }]), /has a stored page/);
    const one = [{ item_id: 'one', input: { owner: 'SMITH' } }];
    await refused(await kept(client, one, { results: { keep_html: false } }), /has a stored page/);
    const source = await kept(client, one);
    const { job_id: again } = await extract(client, source);
    await client.ended(again);
    await refused(again, new RegExp(`extract ${source}`));
  });

  above('a scraper that does not exist or has no parse of its own is refused by name', async () => {
    const source = await completedWithFailures(client, { good: 1 });
    for (const json of [{}, { scraper_id: 'example-noop' }, { scraper_id: 'nobody' }]) {
      const path = `/jobs/${source}/extract`;
      const { errors } = await client.refused(422, 'invalid_request', 'POST', path, { json });
      assert.equal(errors?.[0]?.path, 'scraper_id');
    }
  });

  above('a job that is not a re-extraction has no changes and replaces nothing', async () => {
    const source = await kept(client, [{ item_id: 'one', input: { owner: 'SMITH' } }]);
    await client.refused(409, 'state_conflict', 'GET', `/jobs/${source}/changes`);
    await client.refused(409, 'state_conflict', 'POST', `/jobs/${source}/replace`);
    await client.refused(404, 'job_not_found', 'POST', '/jobs/nobody-made-it/extract');
    await client.refused(404, 'job_not_found', 'GET', '/jobs/nobody-made-it/changes');
    await client.refused(404, 'job_not_found', 'POST', '/jobs/nobody-made-it/replace');
  });
}

interface Item {
  readonly item_id: string;
  readonly input: Record<string, unknown>;
}

/** A job that is over, with the stored pages of its items. */
async function kept(client: Client, items: readonly Item[], policy: object = {}): Promise<string> {
  const job_id = uniqueId('kept');
  const execution_policy = { ...PATIENT, ...policy };
  const { status } = await client.run({ job_id, scraper_id: 'test-kept', items: [...items], execution_policy });
  assert.equal(status, 'completed');
  return job_id;
}

async function extract(client: Client, source: string, more: object = {}): Promise<ExtractedAnswer> {
  const answer = await client.ask('POST', `/jobs/${source}/extract`, { json: { scraper_id: AGAIN, ...more } });
  assert.equal(answer.status, 201, answer.text);
  return answer.json as ExtractedAnswer;
}

/** Asks until the comparison, which the first request starts, is done. */
async function completeChanges(client: Client, jobId: string): Promise<ChangesAnswer> {
  const look = () => client.get<ChangesAnswer>(`/jobs/${jobId}/changes`);
  let changes = await look();
  await untilTrue(async () => {
    if (changes.state === 'complete') return true;
    assert.equal(changes.state, 'comparing');
    changes = await look();
    return false;
  });
  return changes;
}

/** The owners of the export, by item. */
async function ownersOf(client: Client, jobId: string): Promise<Record<string, string | null>> {
  const { status, text } = await client.ask('GET', `/jobs/${jobId}/export`);
  assert.equal(status, 200, text);
  const rows = text.trimEnd().split('\n');
  return Object.fromEntries(
    rows.map((line) => {
      const { item_id: id, data } = JSON.parse(line) as { item_id: string; data: { owner: string } | null };
      return [id, data?.owner ?? null];
    }),
  );
}

/** The list of items, each item, its data file and the parts of the results agree; the pages are still there. */
async function assertHandedOut(client: Client, jobId: string, owners: Record<string, string>): Promise<void> {
  const { items } = await client.get<ResultPartAnswer>(`/jobs/${jobId}/results?part=0`);
  const { items: listed } = await client.get<{ items: ItemDetailAnswer[] }>(`/jobs/${jobId}/items`);
  for (const [itemId, owner] of Object.entries(owners)) {
    const { artifacts } = await client.get<ItemDetailAnswer>(`/jobs/${jobId}/items/${itemId}`);
    assert.deepEqual(artifacts.map(({ kind }) => kind).sort(), ['data', 'html', 'metadata']);
    const data = artifacts.find(({ kind }) => kind === 'data') ?? assert.fail(itemId);
    assert.deepEqual(listed.find(({ item_id: id }) => id === itemId)?.artifacts, artifacts);
    const { json, headers } = await client.ask('GET', data.href);
    assert.deepEqual([(json as { owner: string }).owner, headers.get('etag')], [owner, `"${data.sha256}"`]);
    const row = items.find(({ item_id: id }) => id === itemId);
    assert.ok(JSON.stringify(row).includes(data.sha256), JSON.stringify(row));
    const { text } = await client.ask('GET', `/jobs/${jobId}/items/${itemId}/download?artifact=html`);
    assert.match(text, /^<p class="owner">/);
  }
}

async function refusesItems(client: Client, jobId: string, total: number): Promise<void> {
  const asked = { body: '{"item_id":"one-more","input":{}}\n', headers: { 'content-type': 'application/x-ndjson' } };
  await client.refused(409, 'state_conflict', 'POST', `/jobs/${jobId}/items`, asked);
  assert.equal((await client.get<JobAnswer>(`/jobs/${jobId}`)).summary.total, total);
}

/** Leaves out the job and the attempt: on a busy machine a lease may run out, and the item may be tried again. */
function placeOf(key: string): string | undefined {
  return key.split('/items/')[1]?.replace(/\/attempt-\d+\//, '/');
}
