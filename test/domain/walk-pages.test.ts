import assert from 'node:assert/strict';
import { test } from 'node:test';
import { walkPages } from '../../src/domain/walk-pages.ts';

const PAGES: Readonly<Record<string, { readonly entries: readonly number[]; readonly next: string | null }>> = {
  start: { entries: [1, 2], next: 'second' },
  second: { entries: [], next: 'third' },
  third: { entries: [3], next: null },
};

function book() {
  const asked: (string | null)[] = [];
  const read = async (after: string | null) => {
    asked.push(after);
    return PAGES[after ?? 'start'] ?? { entries: [], next: null };
  };
  return { asked, read };
}

test('every page is walked in its order, empty ones too', async () => {
  const { asked, read } = book();
  const pages = await Array.fromAsync(walkPages(read));
  assert.deepEqual(
    pages.map(({ entries }) => entries),
    [[1, 2], [], [3]],
  );
  assert.deepEqual(asked, [null, 'second', 'third']);
});

test('a page is read only when the one before it is done with, and none after the caller has left', async () => {
  const { asked, read } = book();
  for await (const { entries } of walkPages(read)) {
    assert.equal(asked.length, entries.length > 0 ? 1 : 2);
    if (entries.length === 0) break;
  }
  assert.deepEqual(asked, [null, 'second']);
});

test('nothing is read when it may not go on, neither at first nor between two pages', async () => {
  const none = book();
  assert.deepEqual(await Array.fromAsync(walkPages(none.read, () => false)), []);
  assert.deepEqual(none.asked, []);
  const { asked, read } = book();
  assert.equal((await Array.fromAsync(walkPages(read, () => asked.length < 2))).length, 2);
});
