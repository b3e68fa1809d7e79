import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { COMMAND, PAGE, statesPage } from '../../docs/generate-states.ts';
import { FAILURE_TYPES } from '../../src/domain/failure.ts';

test('docs/states.md is what the tables say', () => {
  assert.equal(readFileSync(PAGE, 'utf8'), statesPage(), `docs/states.md is out of date: run ${COMMAND}`);
});

test('the page has a row for every step and every failure', () => {
  const page = statesPage();
  assert.match(page, /^\| `failed` +\| retry +\| `pending` +\| a user retries it +\|$/m);
  assert.match(page, /^\| `paused` +\| resume +\| `in_progress` +\|$/m);
  for (const type of FAILURE_TYPES) assert.match(page, new RegExp(`^\\| \`${type}\` `, 'm'));
});
