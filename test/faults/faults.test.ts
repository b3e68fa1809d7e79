import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sized } from '../support/sized.ts';
import { runUnderFaults } from './run.ts';

const KINDS = ['refuse', 'drop', 'loseReply', 'partial', 'duplicate', 'delay', 'reorder', 'slow'];

/** The same with 20,000 items is `npm run faults`. */
test('a job on AWS that fails, loses, doubles and delays comes to its end with nothing lost or counted twice', async () => {
  const { problems, faults, reads, recounts, fenced } = await runUnderFaults({
    items: sized({ quick: 500, slow: 1000 }),
    seed: 7,
    rates: {
      ...{ refuse: 0.1, drop: 0.05, loseReply: 0.05 },
      // Few requests carry messages: so likely that every kind happens.
      ...{ partial: 0.2, duplicate: 0.5, delay: 0.5, reorder: 0.5, slow: 0.05 },
    },
    say: () => {},
  });
  assert.deepEqual(problems, []);
  assert.ok(reads > 10, `${reads} reads`);
  assert.ok(recounts > 3, `${recounts} recounts`);
  assert.ok(fenced > 0, 'nobody came too late');
  for (const kind of KINDS) assert.ok((faults[kind] ?? 0) > 0, `no ${kind}: ${JSON.stringify(faults)}`);
});
