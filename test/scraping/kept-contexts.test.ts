import assert from 'node:assert/strict';
import { test } from 'node:test';
import { browserSchema } from '../../src/domain/browser-policy.ts';
import type { ContextLease } from '../../src/ports/browser-provider.ts';
import type { ContextWay } from '../../src/scraping/browser/context-way.ts';
import { type ContextKey, type KeptContext, KeptContexts } from '../../src/scraping/browser/kept-contexts.ts';
import { FakeClock } from '../support/fake-clock.ts';

const keyOf = (job: string, storage: object | null = null): ContextKey => ({
  ...{ job, storage, browser: browserSchema.parse({ isolation: 'page' }) },
});

/** A context that only says whether it was closed. */
function contextOf(closed: string[], name: string, { uses = 1, contexts = 'own', isGone = false } = {}): KeptContext {
  const gone = isGone ? AbortSignal.abort() : new AbortController().signal;
  const lease = {
    session: { contexts, gone },
    async release() {
      closed.push(name);
    },
  };
  return { lease: lease as unknown as ContextLease, way: { async close() {} } as unknown as ContextWay, uses };
}

test('a context goes to the next item of its job and login, and to no other', async () => {
  const closed: string[] = [];
  const login = {};
  const kept = new KeptContexts(new FakeClock());
  const context = contextOf(closed, 'a');
  await kept.keep(keyOf('a', login), context);
  assert.equal((await kept.take(keyOf('a', login)))?.lease, context.lease);
  assert.equal(await kept.take(keyOf('a', login)), null, 'one item at a time has it');
  assert.deepEqual(closed, []);
  await kept.keep(keyOf('a', login), context);
  assert.equal(await kept.take(keyOf('a', {})), null);
  assert.deepEqual(closed, ['a'], 'an item that finds none of its own closes one that is idle');
});

test('a context is closed after ten seconds without an item, after 50 items, and when its browser has no others', async () => {
  const closed: string[] = [];
  const clock = new FakeClock();
  const kept = new KeptContexts(clock);
  await kept.keep(keyOf('a'), contextOf(closed, 'old', { uses: 50 }));
  await kept.keep(keyOf('a'), contextOf(closed, 'shared', { contexts: 'shared' }));
  assert.deepEqual(closed, ['old', 'shared']);
  await kept.keep(keyOf('a'), contextOf(closed, 'idle', { uses: 49 }));
  await clock.advance(9999);
  assert.equal(closed.length, 2);
  await clock.advance(1);
  assert.deepEqual(closed, ['old', 'shared', 'idle']);
  await kept.keep(keyOf('a'), contextOf(closed, 'gone', { isGone: true }));
  assert.equal(await kept.take(keyOf('a')), null);
  await kept.keep(keyOf('a'), contextOf(closed, 'last'));
  await kept.close();
  assert.deepEqual(closed.slice(3), ['gone', 'last']);
});
