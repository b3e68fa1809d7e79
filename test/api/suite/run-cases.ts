import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import type {
  AddedRunItemsAnswer,
  RunAnswer,
  RunItemPageAnswer,
  RunListAnswer,
  UpdatedRunItemsAnswer,
} from '../../../src/contract/scrape-run-answers.ts';
import { aboveBackend } from './above-backend.ts';
import { Client, type Start } from './client.ts';

const RUNS = '/api/scrape-runs';

const urlsFrom = (first: number, count: number) =>
  Array.from({ length: count }, (_, at) => `https://example.com/${first + at}`);
const itemsOf = (urls: readonly string[]) => urls.map((url) => ({ url }));

/** Scrape runs, as clients of an ETL server use them. */
export async function runCases(start: Start): Promise<void> {
  const client = await Client.of(await start({ workers: 0 }));
  const above = aboveBackend(client);
  const create = async (domain: string, urls: readonly string[], more: object = {}) => {
    const answer = await client.ask('POST', RUNS, { json: { domain, items: itemsOf(urls), ...more } });
    assert.equal(answer.status, 201, answer.text);
    return answer.json as RunAnswer;
  };
  const update = (id: string, json: object) => client.patch<UpdatedRunItemsAnswer>(`${RUNS}/${id}`, json);
  const errorsOf = async (method: string, path: string, json: unknown) => {
    const { errors = [] } = await client.refused(422, 'invalid_request', method, path, { json });
    return errors.map(({ path: field, code }) => `${field} ${code}`);
  };

  test('a run is created, read, reported item by item and in batches, and ended', async () => {
    const [a = '', b = '', c = ''] = urlsFrom(0, 3);
    const started_at = '2026-11-18T09:00:00.000+01:00';
    const created = await create('life.example', [a, b, a, c], { source: 'manual', metadata: { started_at } });
    const { _id: id, createdAt, updatedAt } = created;
    const metadata = { started_at, finished_at: null, finished_count: 0, total_count: 3, failed_count: 0 };
    assert.deepEqual(created, {
      ...{ _id: id, id, domain: 'life.example', source: 'manual', status: 'pending' },
      ...{ startTime: '2026-11-18T08:00:00.000Z', endTime: null, createdAt, updatedAt, metadata },
      counts: { total: 3, pending: 3, completed: 0, failed: 0, invalid: 0 },
      items: [a, b, c].map((url) => ({ url, done: false })),
    });
    assert.deepEqual(await client.get(`${RUNS}/${id}`), created);
    const one = { updateItem: { url: a, changes: { done: true } } };
    for (const _ of [1, 2]) assert.deepEqual(await update(id, one), { updated: 1, unknown: [] });
    const batch = {
      updateItems: [
        { url: b, changes: { failed: true, failedReason: 'status 500' } },
        { url: 'https://example.com/other', changes: { done: true } },
        { url: c, changes: { invalid: true } },
      ],
    };
    assert.deepEqual(await update(id, batch), { updated: 2, unknown: ['https://example.com/other'] });
    const reported = await client.get<RunAnswer>(`${RUNS}/${id}`);
    assert.equal(reported.status, 'processing');
    assert.deepEqual(reported.items, [
      { url: a, done: true },
      { url: b, done: false, failed: true, failedReason: 'status 500' },
      { url: c, done: false, invalid: true },
    ]);
    const endTime = '2026-11-18T10:00:00.000Z';
    const end = { status: 'finished', endTime, finalize: true, metadata: { finished_at: endTime, finished_count: 7 } };
    const ended = await client.patch<RunAnswer>(`${RUNS}/${id}`, end);
    assert.deepEqual([ended.status, ended.endTime, ended.items], ['finished', endTime, undefined]);
    const figures = { finished_at: endTime, finished_count: 7, total_count: 3, failed_count: 2 };
    assert.deepEqual(ended.metadata, { started_at, ...figures });
    const again = { status: 'failed', endTime: '2026-11-18T11:00:00.000Z' };
    assert.deepEqual(await client.patch(`${RUNS}/${id}`, again), ended);
  });

  above('after its end a run accepts reports and keeps its end, but no new items unless it is reopened', async () => {
    const [a = '', b = ''] = urlsFrom(0, 2);
    const { _id: id } = await create('late.example', [a]);
    const ended = await client.patch<RunAnswer>(`${RUNS}/${id}`, { finalize: true });
    assert.deepEqual([ended.status, ended.endTime === null], ['finished', false]);
    assert.deepEqual(await update(id, { updateItem: { url: a, changes: { done: true } } }), {
      updated: 1,
      unknown: [],
    });
    const late = await client.get<RunAnswer>(`${RUNS}/${id}`);
    assert.deepEqual([late.status, late.endTime, late.counts.completed], ['finished', ended.endTime, 1]);
    await client.refused(409, 'run_ended', 'POST', `${RUNS}/${id}/items`, { json: { items: [{ url: b }] } });
    const reopened = await client.patch<RunAnswer>(`${RUNS}/${id}`, { status: 'processing' });
    assert.deepEqual([reopened.status, reopened.endTime], ['processing', null]);
    const added = await client.post<AddedRunItemsAnswer>(`${RUNS}/${id}/items`, { items: [{ url: b }, { url: a }] });
    assert.deepEqual([added.added, added.known, added.counts.pending], [1, 1, 1]);
  });

  test('runs are listed by domain and status, sorted, in pages, with or without their items', async () => {
    const started = (at: string) => ({ metadata: { started_at: `2026-11-18T0${at}:00:00Z` } });
    const first = await create('list.example', urlsFrom(0, 2), started('3'));
    const second = await create('list.example', urlsFrom(0, 1), started('1'));
    const third = await create('list.example', [], started('2'));
    await client.patch(`${RUNS}/${third._id}`, { finalize: true });
    const listed = async (query: string) => {
      const { data, pagination } = await client.get<RunListAnswer>(`${RUNS}?domain=list.example&${query}`);
      return { ids: data.map(({ _id }) => _id), pagination, data };
    };
    const all = await listed('');
    assert.deepEqual(all.ids, [third._id, second._id, first._id]);
    assert.deepEqual(all.pagination, { currentPage: 1, totalPages: 1, totalItems: 3, limit: 20 });
    assert.deepEqual(all.data.at(-1), first);
    const bare = await listed('items=false&sortBy=startTime&sortOrder=desc&limit=2&page=1');
    assert.deepEqual(bare.ids, [first._id, third._id]);
    assert.deepEqual(bare.pagination, { currentPage: 1, totalPages: 2, totalItems: 3, limit: 2 });
    const { items: _, ...withoutItems } = first;
    assert.deepEqual(bare.data[0], withoutItems);
    assert.deepEqual((await listed('sortBy=startTime&sortOrder=desc&limit=2&page=2')).ids, [second._id]);
    assert.deepEqual((await listed('status=finished')).ids, [third._id]);
    assert.deepEqual((await listed('status=processing')).pagination.totalPages, 0);
  });

  above('items are read page by page and by state', async () => {
    const urls = urlsFrom(0, 25);
    const { _id: id } = await create('pages.example', urls);
    const done = urls.slice(0, 5).map((url) => ({ url, changes: { done: true } }));
    await update(id, { updateItems: done });
    const read = async (query: string) => {
      const pages: RunItemPageAnswer[] = [];
      for (let cursor: string | null = ''; cursor !== null; cursor = pages.at(-1)?.next_cursor ?? null) {
        const more: string = cursor === '' ? '' : `&cursor=${cursor}`;
        pages.push(await client.get<RunItemPageAnswer>(`${RUNS}/${id}/items?${query}${more}`));
      }
      return pages;
    };
    const all = await read('limit=10');
    assert.deepEqual(
      all.flatMap(({ items }) => items.map(({ url }) => url)),
      urls,
    );
    assert.deepEqual([all.length, all[0]?.counts.completed], [3, 5]);
    const pending = await read('limit=10&status=pending');
    assert.deepEqual(
      pending.flatMap(({ items }) => items.map(({ url }) => url)),
      urls.slice(5),
    );
    const foreign = `${RUNS}/${id}/items?cursor=${pending[0]?.next_cursor}`;
    await client.refused(422, 'invalid_request', 'GET', foreign);
  });

  above('bad requests name the field, and leave no run', async () => {
    const item = { url: 'https://example.com/' };
    for (const [json, wrong] of [
      [{ items: [] }, ['domain invalid_value']],
      [{ domain: '', name: 'x' }, ['domain invalid_value', 'name unknown_field']],
      [{ domain: 'bad.example', items: 5 }, ['items invalid_value']],
      [{ domain: 'bad.example', metadata: { started_at: 'yesterday' } }, ['metadata.started_at invalid_value']],
      [{ domain: 'bad.example', items: [item, { url: 'ftp://x' }] }, ['items.1.url invalid_value']],
      [{ domain: 'bad.example', items: [item, { url: 'https://x', done: true }] }, ['items.1.done unknown_field']],
      [{ domain: 'bad.example', items: [{ url: `https://x/${'a'.repeat(4090)}` }] }, ['items.0.url invalid_value']],
    ] as const) {
      assert.deepEqual(await errorsOf('POST', RUNS, json), wrong, JSON.stringify(json).slice(0, 200));
    }
    const { _id: id } = await create('good.example', [item.url]);
    const path = `${RUNS}/${id}`;
    const change = { url: item.url, changes: {} };
    for (const [json, wrong] of [
      [{}, [' invalid_value']],
      [{ updateItem: change, finalize: true }, [' invalid_value']],
      [{ updateItem: { url: item.url, changes: { done: 'yes' } } }, ['updateItem.changes.done invalid_value']],
      [{ updateItems: [change, { url: item.url }] }, ['updateItems.1.changes invalid_value']],
      [{ updateItem: change, endTime: '2026-11-18T08:00:00Z' }, ['endTime invalid_value']],
      [{ status: 'pending' }, ['status invalid_value']],
      [{ finalize: true, metadata: { finished_count: -1 } }, ['metadata.finished_count invalid_value']],
    ] as const) {
      assert.deepEqual(await errorsOf('PATCH', path, json), wrong, JSON.stringify(json));
    }
    assert.deepEqual(await errorsOf('POST', `${path}/items`, {}), ['items invalid_value']);
    const other = { updateItem: { url: 'https://example.com/other', changes: { done: true } } };
    await client.refused(404, 'run_item_not_found', 'PATCH', path, { json: other });
    await client.refused(400, 'malformed_request', 'POST', RUNS, {
      body: '{"domain":"x","items":[',
      headers: { 'content-type': 'application/json' },
    });
    assert.deepEqual((await client.get<RunListAnswer>(`${RUNS}?domain=bad.example`)).data, []);
  });

  test('a deleted run is gone, as is everything about it', async () => {
    const { _id: id } = await create('gone.example', urlsFrom(0, 3));
    assert.equal((await client.ask('DELETE', `${RUNS}/${id}`)).status, 204);
    const json = { updateItem: { url: 'https://example.com/0', changes: { done: true } } };
    const items = { items: [{ url: 'https://example.com/9' }] };
    for (const [method, path, asked] of [
      ['GET', '', {}],
      ['DELETE', '', {}],
      ['PATCH', '', { json }],
      ['PATCH', '', { json: { finalize: true } }],
      ['GET', '/items', {}],
      ['POST', '/items', { json: items }],
    ] as const) {
      await client.refused(404, 'run_not_found', method, `${RUNS}/${id}${path}`, asked);
    }
  });

  above('a body may be compressed, with fields after its items', async () => {
    const body = gzipSync(`{"items":${JSON.stringify(itemsOf(urlsFrom(0, 5000)))},"domain":"gzip.example"}`);
    const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' };
    const { json } = await client.ask('POST', `${RUNS}?items=false`, { body, headers });
    const { _id: id, counts, items } = json as RunAnswer;
    assert.deepEqual([counts.total, items], [5000, undefined]);
    const whole = await client.get<RunAnswer>(`${RUNS}/${id}`);
    assert.deepEqual(whole.items?.at(-1), { url: 'https://example.com/4999', done: false });
    assert.equal(whole.items?.length, 5000);
  });

  test('a run is watched until its end: status, counts and items; a client that comes back misses nothing', async () => {
    const [a = '', b = ''] = urlsFrom(0, 2);
    const { _id: id } = await create('watched.example', [a, b]);
    const first: string[] = [];
    let seen: string | null = null;
    for await (const { event, data, id: eventId } of client.watchRun(id)) {
      first.push(event);
      if (event === 'stats' && data.counts.pending === 2) {
        await update(id, { updateItem: { url: a, changes: { failed: true, failedReason: 'status 500' } } });
      }
      if (event === 'items')
        assert.deepEqual(data.items, [{ url: a, done: false, failed: true, failedReason: 'status 500' }]);
      seen = eventId ?? seen;
      if (event === 'status' && data.status === 'processing') break;
    }
    assert.deepEqual(first, ['status', 'stats', 'items', 'stats', 'status']);
    await update(id, { updateItems: [{ url: b, changes: { done: true } }] });
    await client.patch(`${RUNS}/${id}`, { finalize: true });
    const rest = [];
    for await (const heard of client.watchRun(id, seen)) {
      rest.push(heard);
      seen = heard.id;
    }
    const kinds = rest.map(({ event }) => event);
    assert.deepEqual([...new Set(kinds)].sort(), ['end', 'items', 'stats', 'status']);
    const end = rest.at(-1);
    const counts = { total: 2, pending: 0, completed: 1, failed: 1, invalid: 0 };
    assert.deepEqual(end?.data, { run_id: id, status: 'finished', counts });
    const again = await client.ask('GET', `${RUNS}/${id}/events`, { headers: { 'last-event-id': seen ?? '' } });
    assert.equal(again.status, 204);
  });

  above('watchers of a run learn that it was deleted, and watchers of an unknown run that there is none', async () => {
    const { _id: id } = await create('unwatched.example', []);
    const heard: string[] = [];
    for await (const { event } of client.watchRun(id)) {
      heard.push(event);
      if (event === 'stats') await client.ask('DELETE', `${RUNS}/${id}`);
    }
    assert.deepEqual(heard, ['status', 'stats', 'gone']);
    await client.refused(404, 'run_not_found', 'GET', `${RUNS}/${id}/events`);
  });
}
