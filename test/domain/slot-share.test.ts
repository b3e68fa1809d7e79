import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  Admission,
  type JobHolding,
  placesOfAllJobs,
  slotsOfAllJobs,
  turnsSomeAway,
} from '../../src/domain/slot-share.ts';
import { roomForAnyJob } from '../support/room.ts';

/** A process configured for `slots`, with this many busy and parked batches of each job. */
function roomWith(slots: number, jobs: Readonly<Record<string, { busy: number; parked?: number }>>) {
  const holdings = Object.entries(jobs).map(([id, { busy, parked = 0 }]): JobHolding => [id, busy, busy + parked]);
  const busy = holdings.reduce((sum, [, each]) => sum + each, 0);
  const held = holdings.reduce((sum, [, , each]) => sum + each, 0);
  return {
    most: 1_000_000,
    freeSlots: slotsOfAllJobs(slots) - busy,
    freePlaces: placesOfAllJobs(slots) - held,
    jobs: holdings,
  };
}

/** How many of the job go in, one after the other. */
function fill(admission: Admission, jobId: string): number {
  let count = 0;
  while (admission.admits(jobId)) {
    admission.enter(jobId);
    count += 1;
  }
  return count;
}

test('a job by itself gets all the slots that are configured', () => {
  for (const slots of [1, 2, 3, 16, 64, 512]) {
    assert.equal(fill(new Admission(roomWith(slots, {})), 'only'), slots);
  }
});

test('ten small jobs find room at once beside a job that came first and hangs', () => {
  const admission = new Admission(roomWith(64, { hanging: { busy: 64 } }));
  assert.equal(fill(admission, 'hanging'), 0);
  for (let job = 0; job < 10; job += 1) {
    for (let batch = 0; batch < 5; batch += 1) {
      assert.ok(admission.admits(`small-${job}`), `batch ${batch} of job ${job}`);
      admission.enter(`small-${job}`);
    }
  }
});

test('what a hanging job gives up goes to those that have less', () => {
  const full = roomWith(8, { first: { busy: 8 }, second: { busy: 4 }, third: { busy: 4 } });
  assert.equal(full.freeSlots, 0);
  const oneLess = new Admission(roomWith(8, { first: { busy: 7 }, second: { busy: 4 }, third: { busy: 4 } }));
  assert.deepEqual(
    ['first', 'second', 'newcomer'].map((job) => oneLess.admits(job)),
    [false, false, true],
  );
});

test('batches that wait at a gate leave their slots to their own job and to others, within the places', () => {
  const admission = new Admission(roomWith(4, { polite: { busy: 1, parked: 3 } }));
  assert.equal(fill(admission, 'polite'), 3);
  const full = new Admission(roomWith(4, { polite: { busy: 0, parked: 8 } }));
  assert.ok(!full.admits('polite'));
  assert.equal(fill(full, 'other'), 4);
});

test('a room says whether it turns a job away', () => {
  assert.equal(turnsSomeAway(roomWith(4, {})), false);
  assert.equal(turnsSomeAway(roomWith(4, { a: { busy: 3 } })), false);
  assert.equal(turnsSomeAway(roomWith(4, { a: { busy: 4 } })), true);
  assert.equal(turnsSomeAway(roomWith(4, { a: { busy: 0, parked: 8 } })), true);
});

test('no more are let in than were asked for', () => {
  const admission = new Admission(roomForAnyJob(3));
  assert.equal(fill(admission, 'a') + fill(admission, 'b'), 3);
});

test('whatever jobs come in whatever order, there is never more in a process than it has slots, and a newcomer waits only while none is free', () => {
  const anyJob = fc.constantFrom('a', 'b', 'c', 'd', 'e');
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 20 }), fc.array(anyJob, { maxLength: 100 }), (slots, jobs) => {
      const admission = new Admission(roomWith(slots, {}));
      const has = new Map<string, number>();
      for (const job of jobs) {
        const busy = [...has.values()].reduce((sum, each) => sum + each, 0);
        const isAdmitted = admission.admits(job);
        const isNew = !has.has(job);
        if (isNew) assert.equal(isAdmitted, busy < slotsOfAllJobs(slots));
        if (!isAdmitted) continue;
        admission.enter(job);
        has.set(job, (has.get(job) ?? 0) + 1);
        assert.ok((has.get(job) ?? 0) <= slots, `${job} has more than the ${slots} of a process`);
      }
    }),
  );
});
