import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { test } from 'node:test';
import fc from 'fast-check';
import { type HostGateSettings, PoliteHostGate } from '../../src/egress/polite-host-gate.ts';
import { type HostGate, HostHeld } from '../../src/ports/host-gate.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { sized } from '../support/sized.ts';

const FOREVER = new AbortController().signal;

function openGate(settings: Omit<HostGateSettings, 'clock'> = {}) {
  const clock = new FakeClock();
  return { clock, gate: new PoliteHostGate({ clock, ...settings }) };
}

/** A caller that wants to enter, and what became of it. */
function ask(gate: HostGate, host: string, signal = FOREVER, patienceMs = Number.POSITIVE_INFINITY) {
  const visit: { state: 'waiting' | 'inside' | 'gone'; leave: () => void; reason: unknown } = {
    state: 'waiting',
    leave: () => {},
    reason: null,
  };
  gate.enter(host, patienceMs, signal).then(
    (leave) => {
      visit.state = 'inside';
      visit.leave = leave;
    },
    (reason) => {
      visit.state = 'gone';
      visit.reason = reason;
    },
  );
  return visit;
}

test('as many callers as are allowed are inside at once, and waiting ones follow in their order', async () => {
  const { clock, gate } = openGate({ maxConcurrent: 2 });
  const visits = Array.from({ length: 5 }, () => ask(gate, 'a'));
  const states = async () => {
    await clock.turn();
    return visits.map(({ state }) => (state === 'inside' ? 1 : 0)).join('');
  };
  assert.equal(await states(), '11000');
  visits[1]?.leave();
  visits[1]?.leave();
  assert.equal(await states(), '11100');
  visits[0]?.leave();
  visits[2]?.leave();
  assert.equal(await states(), '11111');
  assert.equal(clock.sleepers, 0);
});

test('a host held for longer than a caller would wait turns away new callers, and those already waiting', async () => {
  const { clock, gate } = openGate({ maxConcurrent: 1 });
  const inside = ask(gate, 'a');
  const patient = ask(gate, 'a');
  const hasty = ask(gate, 'a', FOREVER, 5000);
  await clock.turn();
  assert.deepEqual([inside.state, patient.state, hasty.state], ['inside', 'waiting', 'waiting']);

  gate.hold('a', 60_000);
  await clock.advance(10_000);
  const late = ask(gate, 'a', FOREVER, 49_999);
  const fits = ask(gate, 'a', FOREVER, 50_000);
  await clock.turn();
  assert.deepEqual([patient.state, hasty.state, late.state, fits.state], ['waiting', 'gone', 'gone', 'waiting']);
  assert.ok(hasty.reason instanceof HostHeld && hasty.reason.ms === 60_000);
  assert.ok(late.reason instanceof HostHeld && late.reason.ms === 50_000);
  assert.match(late.reason.message, /^a is paused for another 50 s: the host asked us to wait$/);

  inside.leave();
  await clock.advance(50_000);
  assert.deepEqual([patient.state, fits.state], ['inside', 'waiting']);
});

test('sixteen callers are inside at once by default, and hosts do not affect each other', async () => {
  const { clock, gate } = openGate();
  const visits = Array.from({ length: 17 }, () => ask(gate, 'a'));
  const other = ask(gate, 'a:8080');
  await clock.turn();
  assert.equal(visits.filter(({ state }) => state === 'inside').length, 16);
  assert.equal(other.state, 'inside');
});

test('starts are a delay apart, even when the previous caller has left', async () => {
  const { clock, gate } = openGate({ minDelayMs: 100 });
  const first = ask(gate, 'a');
  await clock.turn();
  first.leave();
  const [second, third] = [ask(gate, 'a'), ask(gate, 'a')];
  await clock.advance(99);
  assert.equal(second.state, 'waiting');
  assert.equal(clock.sleepers, 1);
  await clock.advance(1);
  assert.deepEqual([second.state, third.state], ['inside', 'waiting']);
  await clock.advance(100);
  assert.equal(third.state, 'inside');
});

test('a host may have wishes of its own', async () => {
  const { clock, gate } = openGate({
    maxConcurrent: 3,
    hosts: { slow: { maxConcurrent: 1 }, apart: { minDelayMs: 10 } },
  });
  const [one, two, three, four] = [ask(gate, 'slow'), ask(gate, 'slow'), ask(gate, 'apart'), ask(gate, 'apart')];
  await clock.turn();
  assert.deepEqual([one.state, two.state, three.state, four.state], ['inside', 'waiting', 'inside', 'waiting']);
  await clock.advance(10);
  assert.deepEqual([two.state, four.state], ['waiting', 'inside']);
});

test('no caller enters a host that asked us to wait, and a shorter wish does not shorten the wait', async () => {
  const { clock, gate } = openGate();
  gate.hold('a', 1000);
  gate.hold('a', 10);
  for (const nonsense of [-5, 0, Number.NaN]) gate.hold('a', nonsense);
  const visit = ask(gate, 'a');
  await clock.advance(999);
  assert.equal(visit.state, 'waiting');
  gate.hold('a', 500);
  await clock.advance(499);
  assert.equal(visit.state, 'waiting');
  await clock.advance(1);
  assert.equal(visit.state, 'inside');
});

test('a caller that gives up takes no turn, and leaves no timer behind', async () => {
  const { clock, gate } = openGate({ maxConcurrent: 1 });
  gate.hold('a', 1000);
  const over = new AbortController();
  const [quitter, patient] = [ask(gate, 'a', over.signal), ask(gate, 'a')];
  over.abort('no time');
  await clock.turn();
  assert.deepEqual([quitter.state, quitter.reason, patient.state], ['gone', 'no time', 'waiting']);
  await clock.advance(1000);
  assert.equal(patient.state, 'inside');
  const alone = new AbortController();
  gate.hold('b', 1000);
  ask(gate, 'b', alone.signal);
  assert.equal(clock.sleepers, 1);
  alone.abort();
  await clock.turn();
  assert.equal(clock.sleepers, 0);
  // The timer was cancelled, and is set again for the next caller.
  const next = ask(gate, 'b');
  await clock.advance(1000);
  assert.equal(next.state, 'inside');
});

test('a caller that comes while a timer is being cancelled is not forgotten', async () => {
  const { clock, gate } = openGate();
  gate.hold('a', 1000);
  const over = new AbortController();
  ask(gate, 'a', over.signal);
  over.abort();
  const next = ask(gate, 'a');
  await clock.advance(1000);
  assert.equal(next.state, 'inside');
});

test('a caller whose signal has already aborted is turned away, though the host is free', async () => {
  const { clock, gate } = openGate();
  const late = ask(gate, 'a', AbortSignal.abort('over'));
  await clock.turn();
  assert.deepEqual([late.state, late.reason, gate.known], ['gone', 'over', 0]);
});

test('hosts that are no longer needed are forgotten, but not before their time', async () => {
  const { clock, gate } = openGate({ maxConcurrent: 2, hosts: { held: { minDelayMs: 50 } } });
  gate.hold('held', 10_000);
  const inside = ask(gate, 'visited');
  for (let index = 0; index < 5000; index += 1) {
    const visit = ask(gate, `h${index}`);
    await Promise.resolve();
    visit.leave();
  }
  assert.ok(gate.known < 2100, `${gate.known} hosts are known`);
  const [held, second, third] = [ask(gate, 'held'), ask(gate, 'visited'), ask(gate, 'visited')];
  await clock.turn();
  assert.deepEqual([held.state, second.state, third.state], ['waiting', 'inside', 'waiting']);
  inside.leave();
  await clock.turn();
  assert.equal(third.state, 'inside');
});

test('a caller that comes after a wait, but before its timer fires, does not overtake others', async () => {
  class LateClock extends FakeClock {
    lateMs = 0;

    override elapsed(): number {
      return super.elapsed() + this.lateMs;
    }
  }
  const clock = new LateClock();
  const gate = new PoliteHostGate({ clock, maxConcurrent: 1 });
  gate.hold('a', 100);
  const first = ask(gate, 'a');
  await clock.turn();
  clock.lateMs = 200;
  const second = ask(gate, 'a');
  await clock.turn();
  assert.deepEqual([first.state, second.state], ['inside', 'waiting']);
});

test('a signal that outlives the visit remembers nothing of it', async () => {
  const { clock, gate } = openGate({ maxConcurrent: 1 });
  const life = new AbortController();
  const [first, second] = [ask(gate, 'a', life.signal), ask(gate, 'a', life.signal)];
  await clock.turn();
  first.leave();
  await clock.turn();
  assert.equal(second.state, 'inside');
  assert.equal(getEventListeners(life.signal, 'abort').length, 0);
});

type Step =
  | { readonly do: 'enter'; readonly host: number }
  | { readonly do: 'leave' | 'abort'; readonly which: number }
  | { readonly do: 'hold'; readonly host: number; readonly ms: number }
  | { readonly do: 'wait'; readonly ms: number };

const host = fc.integer({ min: 0, max: 1 });
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('enter' as const), host }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constantFrom('leave' as const, 'abort' as const), which: fc.nat(30) }) },
  fc.record({ do: fc.constant('hold' as const), host, ms: fc.nat(60) }),
  { weight: 2, arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.nat(40) }) },
);

test('whatever happens, there are never too many callers, and none is too early or forgotten', async () => {
  const settings = fc.record({ maxConcurrent: fc.integer({ min: 1, max: 3 }), minDelayMs: fc.constantFrom(0, 7, 20) });
  await fc.assert(
    fc.asyncProperty(settings, fc.array(step, { maxLength: 40 }), async (politeness, steps) => {
      const clock = new FakeClock();
      const gate = new PoliteHostGate({ clock, ...politeness });
      const inside = [0, 0];
      const heldUntil = [0, 0];
      const starts: number[][] = [[], []];
      const entered: number[][] = [[], []];
      const problems: string[] = [];
      const visits: { host: number; cut: AbortController; leave: (() => void) | null; isOver: boolean }[] = [];

      const enter = (at: number) => {
        const visit = { host: at, cut: new AbortController(), leave: null as (() => void) | null, isOver: false };
        const number = visits.push(visit) - 1;
        gate.enter(`h${at}`, at === 0 ? Number.POSITIVE_INFINITY : 30, visit.cut.signal).then(
          (leave) => {
            inside[at] = (inside[at] ?? 0) + 1;
            if ((inside[at] ?? 0) > politeness.maxConcurrent) problems.push('too many are inside');
            if (clock.elapsed() < (heldUntil[at] ?? 0)) problems.push('somebody entered during a hold');
            const last = starts[at]?.at(-1) ?? Number.NEGATIVE_INFINITY;
            if (clock.elapsed() - last < politeness.minDelayMs) problems.push('two starts are too close');
            starts[at]?.push(clock.elapsed());
            entered[at]?.push(number);
            visit.leave = leave;
          },
          () => {
            visit.isOver = true;
          },
        );
      };
      const leave = (number: number) => {
        const visit = visits[number % Math.max(1, visits.length)];
        if (!visit?.leave || visit.isOver) return;
        visit.isOver = true;
        inside[visit.host] = (inside[visit.host] ?? 0) - 1;
        visit.leave();
      };

      for (const each of steps) {
        if (each.do === 'enter') enter(each.host);
        else if (each.do === 'leave') leave(each.which);
        else if (each.do === 'abort') visits[each.which % Math.max(1, visits.length)]?.cut.abort('gave up');
        else if (each.do === 'hold') {
          // By then, callers that it let in before have been notified.
          await clock.turn();
          heldUntil[each.host] = Math.max(heldUntil[each.host] ?? 0, clock.elapsed() + each.ms);
          gate.hold(`h${each.host}`, each.ms);
        } else if (each.do === 'wait') await clock.advance(each.ms);
      }
      // In the end all leave, one after the other: every waiting caller must get in.
      for (let round = 0; round <= visits.length; round += 1) {
        await clock.advance(100);
        for (const number of visits.keys()) leave(number);
      }
      assert.ok(
        visits.every(({ isOver }) => isOver),
        'somebody was forgotten',
      );
      for (const order of entered)
        assert.deepEqual(
          order,
          order.toSorted((a, b) => a - b),
          'not first come, first served',
        );
      assert.equal(clock.sleepers, 0);
      assert.deepEqual(problems, []);
    }),
    { numRuns: sized({ quick: 100, slow: 300 }) },
  );
});

test('a delay that a site asks for holds until it is withdrawn, even for callers already waiting', async () => {
  const { clock, gate } = openGate({ minDelayMs: 100 });
  ask(gate, 'a').leave();
  const second = ask(gate, 'a');
  gate.setMinDelay('a', 10_000);
  await clock.advance(9999);
  assert.equal(second.state, 'waiting');
  await clock.advance(1);
  assert.equal(second.state, 'inside');
  const third = ask(gate, 'a');
  await clock.advance(100);
  assert.equal(third.state, 'waiting');
  gate.setMinDelay('a', 0);
  await clock.turn();
  assert.equal(third.state, 'inside', 'our own delay is over');
  assert.equal(clock.sleepers, 0);
});

test('our own delay holds where it is longer than what a site asks for', async () => {
  const { clock, gate } = openGate({ minDelayMs: 100, hosts: { b: { minDelayMs: 500 } } });
  for (const host of ['a', 'b']) gate.setMinDelay(host, 200);
  for (const host of ['a', 'b']) ask(gate, host);
  await clock.advance(200);
  assert.deepEqual([gate.isOpen('a'), gate.isOpen('b')], [true, false]);
  await clock.advance(300);
  assert.equal(gate.isOpen('b'), true);
});

test('the delay of a host is not forgotten with the host', async () => {
  const { clock, gate } = openGate();
  gate.setMinDelay('a', 50);
  ask(gate, 'a').leave();
  await clock.advance(1000);
  for (let number = 0; number < 1000; number += 1) await (await gate.enter(`h-${number}`, 0, FOREVER))();
  assert.ok(gate.known < 10, 'all hosts that are quiet were forgotten');
  await (await gate.enter('a', 0, FOREVER))();
  assert.equal(gate.isOpen('a'), false);
});

test('a host that worked and fails again and again is left alone, and then asked with one request at a time', async () => {
  const held: unknown[] = [];
  const { clock, gate } = openGate({ onHold: (...hold) => held.push(hold) });
  gate.noteAnswer('a', 'good', '');
  for (let n = 0; n < 4; n += 1) gate.noteAnswer('a', 'away', 'connection refused');
  assert.equal(gate.pauseOf('a'), null);
  gate.noteAnswer('a', 'away', 'connection refused');
  assert.deepEqual([gate.pauseOf('a')?.isAway, gate.pauseOf('a')?.reason], [true, 'connection refused']);
  // These requests were on their way when the pause began.
  for (let n = 0; n < 10; n += 1) gate.noteAnswer('a', 'away', 'connection refused');
  assert.equal(held.length, 1);

  const visits = Array.from({ length: 3 }, () => ask(gate, 'a'));
  const inside = () => visits.filter(({ state }) => state === 'inside').length;
  await clock.advance(6000);
  assert.equal(inside(), 1);
  visits[0]?.leave();
  await clock.turn();
  gate.noteAnswer('a', 'away', 'connection refused');
  await clock.advance(4000);
  assert.deepEqual([inside(), held.length], [1, 2]);
  await clock.advance(7000);
  assert.equal(inside(), 2);
  visits[1]?.leave();
  gate.noteAnswer('a', 'good', '');
  await clock.advance(1);
  assert.equal(inside(), 3);
  assert.equal(gate.pauseOf('a'), null);
});

test('a host that has never answered is not left alone, however often it fails', async () => {
  const { gate } = openGate();
  for (let n = 0; n < 100; n += 1) gate.noteAnswer('a', 'away', 'no such host');
  assert.equal(gate.pauseOf('a'), null);
});

test('after a refusal a host is visited at a pace below the one that it accepted', async () => {
  const { clock, gate } = openGate();
  for (let n = 0; n < 10; n += 1) {
    ask(gate, 'a').leave();
    gate.noteAnswer('a', 'good', '');
  }
  await clock.advance(2000);
  gate.noteAnswer('a', 'refused', '429');
  const visits = Array.from({ length: 9 }, () => ask(gate, 'a'));
  await clock.advance(1000);
  const inside = visits.filter(({ state }) => state === 'inside').length;
  assert.ok(inside >= 4 && inside <= 5, `${inside} in a second, and 5 were accepted`);
});

test('a refusal that took long does not stop visits for minutes: the pace is not measured by a time without any', async () => {
  const { clock, gate } = openGate();
  const slow = ask(gate, 'a');
  await clock.advance(30_000);
  gate.noteAnswer('a', 'refused', '429');
  slow.leave();
  const [next, afterNext] = [ask(gate, 'a'), ask(gate, 'a')];
  await clock.advance(6000);
  assert.deepEqual([next.state, afterNext.state], ['inside', 'inside']);
});

test('retries are refused when there were too many: for now at a host that has worked, for good at one that has not', () => {
  const { gate } = openGate();
  gate.noteAnswer('works', 'good', '');
  for (const [host, end] of [
    ['works', 'later'],
    ['fails', 'never'],
  ] as const) {
    const answers = Array.from({ length: 12 }, () => gate.takeRetry(host));
    assert.ok(answers.filter((answer) => answer === 'go').length <= 10);
    assert.equal(answers.at(-1), end);
  }
});
