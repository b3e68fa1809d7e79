import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encodeLayout, HASH_LENGTH, isSameLayout, layoutName, SAMPLE_SIZE } from '../../src/domain/page-layout.ts';

/** Hashes as good as any: what counts is that their order has nothing to do with what they stand for. */
function hashesOf(from: number, to: number): string[] {
  return Array.from({ length: to - from }, (_, index) =>
    String(((from + index) * 7919) % 997).padStart(HASH_LENGTH, '0'),
  );
}

const layoutOf = (...hashes: readonly string[]) => encodeLayout(hashes, (text) => `digest of ${text}`);

test('a layout is a name and a sample, however much the page has, and in whatever order', () => {
  const hashes = hashesOf(0, 100);
  const layout = layoutOf(...hashes);
  assert.equal(layout, layoutOf(...hashes.toReversed(), ...hashes));
  assert.equal(layout.length, 12 + 1 + SAMPLE_SIZE * HASH_LENGTH);
  assert.equal(layoutName(layout), 'digest of 00');
});

test('layouts are the same if they have most in common, and not if that is only the frame of the site', () => {
  const page = hashesOf(0, 60);
  const isSame = (...hashes: readonly string[]) => isSameLayout(layoutOf(...page), layoutOf(...hashes));
  assert.ok(isSame(...page));
  assert.ok(isSame(...hashesOf(0, 66)), 'a section more');
  assert.ok(isSame(...hashesOf(6, 60)), 'a section less');
  assert.ok(!isSame(...hashesOf(40, 100)), 'a third in common');
  assert.ok(!isSame(...hashesOf(60, 120)));
  assert.ok(!isSame());
});

test('small pages are compared as a whole', () => {
  assert.ok(isSameLayout(layoutOf('aaa', 'bbb', 'ccc'), layoutOf('aaa', 'bbb', 'ccc', 'ddd')));
  assert.ok(!isSameLayout(layoutOf('aaa', 'bbb'), layoutOf('aaa', 'ccc')));
  assert.ok(isSameLayout(layoutOf(), layoutOf()));
});

test('what an older version stored is a name, and like nothing else', () => {
  assert.equal(layoutName('0123456789ab'), '0123456789ab');
  assert.ok(isSameLayout('0123456789ab', '0123456789ab'));
  assert.ok(!isSameLayout('0123456789ab', layoutOf('aaa')));
  assert.ok(isSameLayout(null, null));
  assert.ok(!isSameLayout(null, layoutOf('aaa')));
  assert.ok(!isSameLayout(null, '0123456789ab'));
});
