import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SILENCE_MS } from '../../src/controller/api/server.ts';
import { PAGE_WAIT_MS } from '../../src/controller/jobs/sites/page-now.ts';

const TIME_TO_ANSWER_MS = 30_000;

test('a request that waits for a page is answered before its connection counts as silent', () => {
  assert.ok(PAGE_WAIT_MS + TIME_TO_ANSWER_MS <= SILENCE_MS);
});
