import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Admission } from '../../src/domain/slot-share.ts';
import { PoliteHostGate } from '../../src/egress/polite-host-gate.ts';
import { ParkingGate } from '../../src/worker/parking-gate.ts';
import { Slots } from '../../src/worker/slots.ts';
import { FakeClock } from '../support/fake-clock.ts';

const NEVER = new AbortController().signal;

test('a job that has its share is turned away until one of its batches ends', () => {
  const slots = new Slots(2);
  const [first] = [slots.occupy('a'), slots.occupy('a')];
  assert.equal(mayTake(slots, 'a'), false);
  assert.equal(mayTake(slots, 'b'), true);
  first?.leave();
  assert.equal(mayTake(slots, 'a'), true);
});

test('a listener hears of more room when a batch ends and when one is parked, until it is called off', () => {
  const slots = new Slots(2);
  let heard = 0;
  const callOff = slots.onMore(() => (heard += 1));
  const [one, two] = [slots.occupy('a'), slots.occupy('a')];
  const goOn = one.park();
  assert.equal(heard, 1);
  goOn();
  two.leave();
  two.leave();
  assert.equal(heard, 2);
  callOff();
  one.leave();
  assert.equal(heard, 2);
});

test('a batch that waits at the gate of a host has no slot, and has one again when it is admitted', async () => {
  const slots = new Slots(1);
  const gate = new PoliteHostGate({ clock: new FakeClock(), maxConcurrent: 1 });
  const first = slots.occupy('a');
  const leaveHost = await new ParkingGate(gate, 'j1', first).enter('county.gov', 1000, NEVER);
  assert.equal(mayTake(slots, 'a'), false);
  first.leave();

  const second = slots.occupy('a');
  const waiting = new ParkingGate(gate, 'j1', second).enter('county.gov', 1000, NEVER);
  assert.equal(mayTake(slots, 'a'), true, 'its slot is free while it waits');
  leaveHost();
  await waiting;
  assert.equal(mayTake(slots, 'a'), false, 'it has its slot again');
});

test('a batch that is turned away at a gate, or cut off there, has its slot again', async () => {
  const slots = new Slots(1);
  const gate = new PoliteHostGate({ clock: new FakeClock(), maxConcurrent: 1 });
  gate.hold('county.gov', 5000);
  const place = slots.occupy('a');
  await assert.rejects(new ParkingGate(gate, 'j1', place).enter('county.gov', 1000, NEVER), { name: 'HostHeld' });
  assert.equal(mayTake(slots, 'a'), false);
  const cut = new AbortController();
  const waiting = new ParkingGate(gate, 'j1', place).enter('county.gov', 9000, cut.signal);
  assert.equal(mayTake(slots, 'a'), true);
  cut.abort(new Error('over'));
  await assert.rejects(waiting, { message: 'over' });
  assert.equal(mayTake(slots, 'a'), false);
});

test('parked batches are bounded by the places of the process, and a batch that left while parked frees only its place', () => {
  const slots = new Slots(1);
  const places = ['a', 'a', 'b', 'b'].map((job) => slots.occupy(job));
  const goOn = places.map((place) => place.park());
  assert.equal(slots.hasRoom, false, 'all four places are taken');
  assert.throws(() => slots.occupy('c'), /more leases than places/);
  places[0]?.leave();
  goOn[0]?.();
  assert.equal(slots.hasRoom, true);
  assert.deepEqual(slots.now(), {
    most: 128,
    freeSlots: 2,
    freePlaces: 1,
    jobs: [
      ['a', 0, 1],
      ['b', 0, 2],
    ],
  });
});

function mayTake(slots: Slots, jobId: string): boolean {
  return new Admission(slots.now()).admits(jobId);
}
