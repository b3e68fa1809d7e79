import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { openDatabase } from '../../src/adapters/embedded/ledger/database.ts';
import { Durability } from '../../src/adapters/embedded/ledger/durability.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { dataDirOf } from './embedded-support.ts';

const SOON = { isUrgent: false };
const NOW = { isUrgent: true };

/** Durability on a database of its own, whose syncs are counted; answered callers are listed by name. */
function given(t: Parameters<typeof dataDirOf>[0], gatherMs: number) {
  const database = openDatabase(join(dataDirOf(t), 'ledger.db'));
  t.after(() => database.close());
  const clock = new FakeClock();
  const seen = { syncs: 0, answered: [] as string[] };
  const durability = new Durability(
    database,
    async () => {
      seen.syncs += 1;
    },
    (signal) => clock.sleep(gatherMs, signal),
  );
  const ask = (name: string, how: typeof SOON) =>
    durability.wait(how).then(() => {
      seen.answered.push(name);
    });
  return { clock, seen, ask };
}

test('a caller that is not in a hurry waits for company, and one sync serves all that came meanwhile', async (t) => {
  const { clock, seen, ask } = given(t, 4);
  const first = ask('first', SOON);
  await clock.advance(3);
  const second = ask('second', SOON);
  assert.deepEqual(seen, { syncs: 0, answered: [] });
  await clock.advance(1);
  await Promise.all([first, second]);
  assert.deepEqual(seen, { syncs: 1, answered: ['first', 'second'] });
});

test('a caller that is in a hurry does not wait for others, and takes along those that wait', async (t) => {
  const { seen, ask } = given(t, 4);
  const patient = ask('patient', SOON);
  await setImmediate();
  const urgent = ask('urgent', NOW);
  await Promise.all([patient, urgent]);
  assert.deepEqual(seen, { syncs: 1, answered: ['patient', 'urgent'] });
});

test('the hurry is over after its sync: the next caller waits for company again', async (t) => {
  const { clock, seen, ask } = given(t, 4);
  await ask('urgent', NOW);
  const patient = ask('patient', SOON);
  await clock.advance(3);
  assert.deepEqual(seen, { syncs: 1, answered: ['urgent'] });
  await clock.advance(1);
  await patient;
  assert.equal(seen.syncs, 2);
});
