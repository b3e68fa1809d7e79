import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BadPlan, parseFaultPlan } from '../../demo/fault-plan.ts';
import { FAULT_KINDS, faultFor, type Moment, NO_FAULTS } from '../../demo/faults.ts';
import { randomOf } from '../../demo/random.ts';

const at = (moment: Partial<Moment>): Moment => ({ request: 0, elapsedMs: 0, page: 'detail', ...moment });
const never = () => assert.fail('nothing was left to chance');

test('without a plan nothing happens', () => {
  assert.deepEqual(faultFor(NO_FAULTS, at({}), never), { delayMs: 0, fault: null });
  assert.deepEqual(parseFaultPlan({}), NO_FAULTS);
});

test('a fault without further conditions hits every request', () => {
  for (const kind of FAULT_KINDS) {
    assert.equal(faultFor(parseFaultPlan({ [kind]: {} }), at({ request: 5 }), never).fault?.kind, kind);
  }
});

test('a fault by rate hits about that share of the requests, the same ones for the same dice', () => {
  const plan = parseFaultPlan({ reset: { rate: 0.1 } });
  const draw = () => {
    const random = randomOf(1, 0, 0);
    return Array.from({ length: 10_000 }, (_, request) => faultFor(plan, at({ request }), random).fault !== null);
  };
  const hits = draw();
  const count = hits.filter(Boolean).length;
  assert.ok(count > 850 && count < 1150, `${count} of 10000`);
  assert.deepEqual(draw(), hits);
});

test('a period holds from its first number to the one before its last', () => {
  const byNumber = parseFaultPlan({ challenge: { from: 500, to: 900 } });
  const byTime = parseFaultPlan({ challenge: { fromMs: 500, toMs: 900 } });
  for (const [value, isHit] of [
    [499, false],
    [500, true],
    [899, true],
    [900, false],
  ] as const) {
    assert.equal(faultFor(byNumber, at({ request: value }), never).fault !== null, isHit, `request ${value}`);
    assert.equal(faultFor(byTime, at({ elapsedMs: value }), never).fault !== null, isHit, `${value} ms`);
  }
});

test('a fault of some pages spares the others, and only the page of a parcel can be that of another one', () => {
  const bills = parseFaultPlan({ serverError: { pages: ['bill'] } });
  assert.equal(faultFor(bills, at({ page: 'bill' }), never).fault?.kind, 'serverError');
  assert.equal(faultFor(bills, at({ page: 'detail' }), never).fault, null);
  const wrong = parseFaultPlan({ wrongParcel: {} });
  assert.equal(faultFor(wrong, at({ page: 'parcel' }), never).fault?.kind, 'wrongParcel');
  assert.equal(faultFor(wrong, at({ page: 'search' }), never).fault, null);
});

test('the first fault that hits counts, and latency goes with it', () => {
  const plan = parseFaultPlan({ latency: { ms: 20 }, drip: { to: 1 }, reset: {} });
  assert.deepEqual(
    [0, 1]
      .map((request) => faultFor(plan, at({ request }), () => 0.5))
      .map(({ delayMs, fault }) => [delayMs, fault?.kind]),
    [
      [20, 'drip'],
      [20, 'reset'],
    ],
  );
});

test('latency is fixed, or is anywhere between two bounds', () => {
  const delay = (settings: object, chance: number) =>
    faultFor(parseFaultPlan({ latency: settings }), at({}), () => chance).delayMs;
  assert.equal(delay({ ms: 20 }, 0.9), 20);
  assert.deepEqual(
    [0, 0.5].map((chance) => delay({ minMs: 10, maxMs: 30 }, chance)),
    [10, 20],
  );
  assert.equal(delay({ ms: 20, rate: 0.5 }, 0.5), 0);
  assert.equal(delay({ ms: 20, rate: 0.5 }, 0.4), 20);
});

test('a bad plan is refused by the name of the field', () => {
  const bad: readonly [plan: unknown, message: string][] = [
    [null, 'plan: is not an object'],
    [[], 'plan: is not an object'],
    [{ reset: 0.5 }, 'reset: is not an object'],
    [{ resets: {} }, `resets: is not a fault; there are latency, ${FAULT_KINDS.join(', ')}`],
    [{ reset: { rate: 2 } }, 'reset.rate: is not a number from 0 to 1'],
    [{ reset: { rate: '1' } }, 'reset.rate: is not a number from 0 to 1'],
    [{ reset: { rate: Number.NaN } }, 'reset.rate: is not a number from 0 to 1'],
    [{ reset: { ms: 5 } }, 'reset.ms: is not known'],
    [{ latency: { minMs: 5, maxMs: 4 } }, 'latency.maxMs: is below minMs'],
    [{ maintenance: { status: 404 } }, 'maintenance.status: is neither 200 nor 503'],
    [{ drip: { bytes: 0 } }, 'drip.bytes: is not a number from 1 to 1048576'],
    [
      { block: { pages: ['bills'] } },
      'block.pages: is not a list of home, disclaimer, search, results, select, detail, parcel, bill, json, other, app, api',
    ],
  ];
  for (const [plan, message] of bad) assert.throws(() => parseFaultPlan(plan), new BadPlan(...cut(message)));
});

function cut(message: string): [field: string, problem: string] {
  const colon = message.indexOf(': ');
  return [message.slice(0, colon), message.slice(colon + 2)];
}
