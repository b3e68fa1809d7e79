import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { FAILURE_TYPES, failure } from '../../src/domain/failure.ts';
import { isHeldByHost } from '../../src/domain/held-back.ts';
import { afterAway, afterGood, type HostOutage, hostAnswer, isAway, NO_OUTAGE } from '../../src/domain/host-outage.ts';

const WORKED = afterGood(NO_OUTAGE);

/** Reports this many failures in a row; returns the pauses that they caused. */
function fail(outage: HostOutage, times: number, chance = 0.999) {
  const pauses: number[] = [];
  let now = outage;
  for (let n = 0; n < times; n += 1) {
    const { outage: next, pauseMs } = afterAway(now, { now: 0, chance });
    if (pauseMs !== null) pauses.push(Math.round(pauseMs / 1000));
    now = next;
  }
  return { outage: now, pauses };
}

test('a host that worked is away after five failures in a row, and its pauses grow up to five minutes', () => {
  assert.deepEqual(fail(WORKED, 4).pauses, []);
  assert.deepEqual(fail(WORKED, 13).pauses, [5, 10, 20, 40, 80, 160, 300, 300, 300]);
});

test('three failures are enough if they last, and two never are', () => {
  let outage = WORKED;
  const at = (now: number) => {
    const next = afterAway(outage, { now, chance: 0.999 });
    outage = next.outage;
    return next.pauseMs !== null;
  };
  assert.deepEqual([at(1000), at(60_000), at(60_001)], [false, false, true]);
  outage = WORKED;
  assert.deepEqual([at(1000), at(2000), at(2999), at(3000)], [false, false, false, true]);
});

test('a host that never worked is never away: that is for the circuit breaker', () => {
  const { outage, pauses } = fail(NO_OUTAGE, 1000);
  assert.deepEqual([isAway(outage), pauses], [false, []]);
});

test('one good answer ends an outage, and the next one begins with a short pause', () => {
  const { outage } = fail(WORKED, 10);
  assert.equal(isAway(outage), true);
  assert.deepEqual(afterGood(outage), WORKED);
  assert.deepEqual(fail(afterGood(outage), 5).pauses, [5]);
});

test('failures between good answers never make an outage, however many there are', () => {
  const streaks = fc.array(fc.integer({ min: 0, max: 4 }));
  fc.assert(
    fc.property(streaks, (lengths) => {
      const end = lengths.reduce((outage, length) => afterGood(fail(outage, length).outage), WORKED);
      assert.equal(isAway(end), false);
    }),
  );
});

test('an hour of outage takes fewer than 35 requests, whatever the chances', () => {
  fc.assert(
    fc.property(
      fc.array(fc.double({ min: 0, max: 0.999, noNaN: true }), { minLength: 40, maxLength: 40 }),
      (chances) => {
        let outage = fail(WORKED, 4).outage;
        let ms = 0;
        let requests = 4;
        for (const chance of chances) {
          const next = afterAway(outage, { now: ms, chance });
          outage = next.outage;
          requests += 1;
          ms += next.pauseMs ?? 0;
          if (ms >= 3_600_000) break;
        }
        assert.ok(ms >= 3_600_000 && requests < 35, `${requests} requests in ${ms} ms`);
      },
    ),
  );
});

test('what concerns one item says nothing about an outage, and an answer of any kind shows that the host is there', () => {
  const says = (type: (typeof FAILURE_TYPES)[number], status: number | null = 200) => hostAnswer({ type }, status);
  assert.deepEqual(
    [says('network_error', null), says('timeout', null), says('maintenance', 503)],
    Array(3).fill('away'),
  );
  assert.deepEqual(
    [says('server_error', 503), says('server_error', 502), says('server_error', 500)],
    ['away', 'away', null],
  );
  assert.equal(says('rate_limited', 429), 'refused');
  for (const type of ['blocked', 'not_found', 'no_results', 'structure_changed'] as const)
    assert.equal(says(type), 'good');
  for (const type of ['proxy_error', 'proxy_config'] as const) assert.equal(says(type, 502), null);
  assert.equal(says('refused_address', null), null);
});

test('an item goes back because of its host only if the host is away, let no request in, or asks for more than is left', () => {
  const pause = { pauseMs: 10_000, isAway: false, wasAsked: true };
  const limited = failure('rate_limited', '429', { retryAfterMs: 10_000 });
  const down = failure('network_error', 'refused');
  assert.equal(isHeldByHost(limited, pause, 9000), true);
  assert.equal(isHeldByHost(limited, pause, 11_000), false);
  assert.equal(isHeldByHost(limited, { ...pause, wasAsked: false }, 11_000), true);
  assert.equal(isHeldByHost(down, { ...pause, isAway: true }, 300_000), true);
  assert.equal(isHeldByHost(down, pause, 1), false);
  assert.equal(isHeldByHost(down, null, 0), false);
  for (const type of FAILURE_TYPES) {
    const isOfHost = ['timeout', 'network_error', 'server_error', 'maintenance', 'rate_limited'].includes(type);
    assert.equal(isHeldByHost(failure(type, ''), { ...pause, isAway: true }, 1000), isOfHost, type);
  }
});
