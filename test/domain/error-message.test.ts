import assert from 'node:assert/strict';
import { test } from 'node:test';
import { errorMessage } from '../../src/domain/error-message.ts';

test('whatever is thrown has a message', () => {
  assert.equal(errorMessage(new RangeError('too far')), 'too far');
  for (const [thrown, message] of [
    ['a text', 'a text'],
    [undefined, 'undefined'],
    [null, 'null'],
    [7, '7'],
  ] as const) {
    assert.equal(errorMessage(thrown), message);
  }
});
