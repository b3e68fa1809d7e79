import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { test } from 'node:test';
import { InputCheck } from '../../src/controller/intake/check-inputs.ts';
import { seededChance } from '../../src/domain/seeded-chance.ts';

function check(sampleSize = 5): InputCheck {
  return new InputCheck({ digest: (text) => hash('sha256', text), sampleSize, chance: seededChance(1) });
}

test('good items, bad lines, repeated ids and conflicting inputs are distinguished', () => {
  const inputs = check();
  inputs.take({ item: { itemId: 'a', input: { apn: '1' } }, line: 2 });
  inputs.take({ item: { itemId: 'a', input: { apn: '1' } }, line: 3 });
  inputs.take({ item: { itemId: 'a', input: { apn: '2' } }, line: 4 });
  inputs.refuse({ line: 5, code: 'invalid_input', problem: 'apn: is required' });
  inputs.refuse({ line: 6, code: 'lines_lost', problem: 'a quote is opened and not closed' });
  inputs.ignore(['note']);
  assert.deepEqual(inputs.report(), {
    received: 5,
    items: 1,
    bad: 2,
    badLines: [
      { line: 5, code: 'invalid_input', problem: 'apn: is required' },
      { line: 6, code: 'lines_lost', problem: 'a quote is opened and not closed' },
    ],
    duplicates: 2,
    conflicts: 1,
    conflicting: [{ itemId: 'a', line: 4, firstLine: 2 }],
    isIncomplete: true,
    ignoredColumns: ['note'],
    comparedIds: 1,
  });
  assert.deepEqual(inputs.sample(), [{ itemId: 'a', input: { apn: '1' } }]);
});

test('with many bad lines and conflicts, the first twenty are kept and all are counted', () => {
  const inputs = check();
  inputs.take({ item: { itemId: 'a', input: {} }, line: 1 });
  for (let line = 2; line < 102; line += 1) {
    inputs.refuse({ line, problem: 'x'.repeat(2000) });
    inputs.take({ item: { itemId: 'a', input: { line } }, line });
  }
  const { bad, badLines, conflicts, conflicting } = inputs.report();
  assert.deepEqual([bad, badLines.length, conflicts, conflicting.length], [100, 20, 100, 20]);
  assert.ok((badLines[0]?.problem.length ?? 0) < 600);
});
