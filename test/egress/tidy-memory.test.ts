import assert from 'node:assert/strict';
import { test } from 'node:test';
import { garbageCollector } from '../../src/adapters/system/collect-garbage.ts';
import { failure } from '../../src/domain/failure.ts';
import { withTidyMemory } from '../../src/egress/tidy-memory.ts';
import type { Web, WebAnswer, WebFailed } from '../../src/egress/web.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { aRequest, aVisit } from './visits.ts';

const ABOUT = { url: 'http://a.test/', redirects: [], ms: 1 };

function answerOf(bytes: number): WebAnswer {
  const body = new Uint8Array(bytes);
  return { ...ABOUT, kind: 'answer', status: 200, headers: {}, body, bytes, rawBytes: bytes };
}

function failedAs(type: 'too_large' | 'timeout'): WebFailed {
  return { ...ABOUT, kind: 'failed', failure: failure(type, 'x') };
}

test('memory is tidied up when a large answer is here and after it, and never for small ones', async () => {
  const clock = new FakeClock();
  let collections = 0;
  const collectionsAfter = async (...ends: (WebAnswer | WebFailed)[]) => {
    const before = collections;
    const queue = [...ends];
    const plain: Web = { send: async () => queue.shift() ?? answerOf(0) };
    const web = withTidyMemory(plain, { clock, collect: () => (collections += 1) });
    for (const end of ends) assert.equal(await web.send(aRequest('http://a.test/'), aVisit()), end);
    await clock.advance(1000);
    return collections - before;
  };
  assert.equal(await collectionsAfter(answerOf(25_000), answerOf(1 << 20), failedAs('timeout')), 0);
  assert.equal(await collectionsAfter(answerOf((1 << 20) + 1)), 2);
  assert.equal(await collectionsAfter(failedAs('too_large')), 2);
  assert.equal(await collectionsAfter(answerOf(2 << 20), answerOf(2 << 20), answerOf(2 << 20)), 4);
});

test('the collector really collects', () => {
  const collect = garbageCollector();
  const gone = new WeakRef({ page: 'x'.repeat(1000) });
  return new Promise<void>((resolve) => setImmediate(resolve)).then(() => {
    collect();
    assert.equal(gone.deref(), undefined);
  });
});
