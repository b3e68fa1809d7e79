import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readCookies, Sessions } from '../../demo/sessions.ts';

test('the visitor that came last is remembered, the one that stayed away longest is forgotten', () => {
  const sessions = new Sessions(2);
  const [first, second] = [sessions.open(), sessions.open()];
  assert.equal(sessions.find(first.id), first);
  const third = sessions.open();
  assert.equal(sessions.size, 2);
  assert.deepEqual(
    [first, second, third].map(({ id }) => sessions.find(id)),
    [first, null, third],
  );
  assert.equal(sessions.find(undefined), null);
  assert.match(first.id, /^[a-z0-5]{24}$/);
});

test('cookies are read as they come, the first of a name counts', () => {
  assert.deepEqual(
    [...readCookies('a=1; b=x=y;c ; =d; a=2')],
    [
      ['a', '1'],
      ['b', 'x=y'],
    ],
  );
  assert.equal(readCookies(undefined).size, 0);
});
