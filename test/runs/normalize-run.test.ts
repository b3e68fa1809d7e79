import assert from 'node:assert/strict';
import { test } from 'node:test';
import { normalizeListResponse, normalizeRunResponse } from '../../src/runs/etl/normalize-run.ts';

const AT = '2026-01-02T03:04:05.000Z';
const RUN = { _id: 'r1', domain: 'county.gov', startTime: AT, endTime: null, items: [], createdAt: AT, updatedAt: AT };

test('a run is the same whatever names and envelope it comes with', () => {
  const { _id, startTime, endTime, createdAt, updatedAt, ...rest } = RUN;
  const other = { ...rest, id: _id, start_time: startTime, end_time: endTime, created_at: createdAt };
  for (const answer of [RUN, { data: RUN }, { run: RUN }, other, { ...other, updated_at: updatedAt }]) {
    assert.deepEqual(normalizeRunResponse(answer), RUN);
  }
  assert.equal(normalizeRunResponse({ ...RUN, _id: undefined, id: 7 })._id, '7');
  assert.equal(normalizeRunResponse({ ...RUN, _id: { $oid: 'abc' } })._id, 'abc');
  assert.equal(normalizeRunResponse({ ...RUN, createdAt: Date.parse(AT) }).createdAt, AT);
});

test('flags of items may be null, and the reason has two names', () => {
  const items = [
    { url: 'a', done: true, failed: null, invalid: null },
    { url: 'b', done: null, failed: true, failReason: 'timeout' },
    { url: 'c', invalid: false, failedReason: null },
  ];
  assert.deepEqual(normalizeRunResponse({ ...RUN, items }).items, [
    { url: 'a', done: true },
    { url: 'b', done: false, failed: true, failedReason: 'timeout' },
    { url: 'c', done: false, invalid: false },
  ]);
  assert.deepEqual(normalizeRunResponse({ ...RUN, items: null }).items, []);
});

test('other fields that are not known yet may be null, too', () => {
  const metadata = { started_at: null, finished_at: null, finished_count: null, total_count: 3, failed_count: null };
  const unknown = { id: null, source: null, status: null, startTime: null, updatedAt: null };
  assert.deepEqual(normalizeRunResponse({ ...RUN, ...unknown, metadata }), {
    ...{ ...RUN, metadata: { finished_at: null, total_count: 3 } },
  });
  assert.equal(normalizeRunResponse({ ...RUN, _id: null, id: 'r1' })._id, 'r1');
  assert.throws(() => normalizeRunResponse({ ...RUN, metadata: { total_count: '3' } }), /metadata\.total_count: /);
});

test('a list comes with pages, under another name, or bare', () => {
  const pagination = { currentPage: 2, totalPages: 3, totalItems: 5, limit: 2 };
  assert.deepEqual(normalizeListResponse({ data: [RUN], pagination }), { data: [RUN], pagination });
  for (const answer of [{ runs: [RUN] }, [RUN], { data: [RUN] }]) {
    assert.deepEqual(normalizeListResponse(answer), {
      data: [RUN],
      pagination: { currentPage: 1, totalPages: 1, totalItems: 1, limit: 1 },
    });
  }
});

test('what cannot be used is refused with the name of the field', () => {
  const why = (answer: unknown) => () => normalizeRunResponse(answer);
  assert.throws(why({ ...RUN, _id: undefined }), /_id: is missing, and so is id/);
  assert.throws(why({ ...RUN, domain: 7 }), /domain: /);
  assert.throws(why({ ...RUN, items: [{ url: 'a' }, { done: true }] }), /items\.1\.url: /);
  assert.throws(why({ ...RUN, createdAt: 'soon' }), /createdAt: .*/);
  assert.throws(why('<html>'), /the answer: /);
  assert.throws(() => normalizeListResponse({ data: [RUN, { ...RUN, domain: null }] }), /data\.1\.domain: /);
  assert.throws(() => normalizeListResponse({ items: [] }), /neither data nor runs/);
});
