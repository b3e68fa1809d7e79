import assert from 'node:assert/strict';
import type { LineShare } from '../../src/domain/line-book.ts';
import type { LineNews } from '../../src/domain/line-health.ts';
import { type LineLimits, NO_LIMITS } from '../../src/domain/line-limits.ts';
import type { HostShares, NamedAsk } from '../../src/ports/host-shares.ts';
import { NOW } from '../support/builders.ts';
import { type Opened, type SuiteOptions, suite } from './suite.ts';

export interface HostSharesParts {
  readonly hostShares: HostShares;
}

const LEASE_MS = 1000;

const NO_NEWS: LineNews = {
  ...{ good: 0, goodMs: null, refusal: null, failures: 0, failingMs: 0, failedMs: 0, pauses: 0, pausedMs: 0 },
};

/** Everything that the comments of `ports/host-shares.ts` promise. `open` makes one in which nothing is reserved. */
export function hostSharesContract(
  name: string,
  open: () => Promise<Opened<HostSharesParts>>,
  options: SuiteOptions = {},
): void {
  suite<HostSharesParts>(`shares of hosts on ${name}`, open, options, (add) => {
    const asking = (line: string, limits: Partial<LineLimits>, places = 100, inside = 0): NamedAsk => ({
      line,
      limits: { ...NO_LIMITS, ...limits },
      leaseMs: LEASE_MS,
      inside,
      demands: [{ job: 'j1', weight: 1, places, perSecond: places }],
      news: null,
    });
    const reserveOne = async (shares: HostShares, process: string, ask: NamedAsk, now: number): Promise<LineShare> => {
      const [share] = await shares.reserve(process, [ask], now);
      assert.ok(share);
      return share;
    };

    add('a place is given to one process only, until its lease ends', async ({ hostShares }) => {
      const ask = asking('host a.gov', { maxConcurrent: 16 });
      const first = await reserveOne(hostShares, 'w1', ask, NOW);
      assert.equal(first.places, 16);
      assert.equal((await reserveOne(hostShares, 'w2', ask, NOW + 1)).places, 0);
      // w1 gives back half at its next renewal, when it knows of w2; then w2 finds it.
      assert.equal((await reserveOne(hostShares, 'w1', ask, NOW + 1000)).places, 8);
      assert.equal((await reserveOne(hostShares, 'w2', ask, NOW + 1001)).places, 8);
      // w1 is dead.
      assert.equal((await reserveOne(hostShares, 'w2', ask, NOW + 2001)).places, 8);
      assert.equal((await reserveOne(hostShares, 'w2', ask, NOW + 3001)).places, 16);
    });

    add('processes that ask at the same time never get more places than there are', async ({ hostShares }) => {
      const workers = Array.from({ length: 8 }, (_, at) => `w${at}`);
      const ask = asking('host a.gov', { maxConcurrent: 10 });
      for (let now = NOW; now < NOW + 5000; now += LEASE_MS) {
        const shares = await Promise.all(workers.map((worker) => reserveOne(hostShares, worker, ask, now)));
        const sum = shares.reduce((all, { places }) => all + (places ?? 0), 0);
        assert.ok(sum <= 10, `${sum} places of 10`);
      }
    });

    add('a slot is given only once, however many processes ask at the same time', async ({ hostShares }) => {
      const given: number[] = [];
      const ask = asking('host a.gov', { requestsPerSecond: 20 });
      for (let now = NOW; now < NOW + 4000; now += LEASE_MS) {
        const workers = ['w1', 'w2', 'w3', 'w4'];
        const shares = await Promise.all(workers.map((worker) => reserveOne(hostShares, worker, ask, now)));
        for (const { slots } of shares) given.push(...slots.map((slot) => now + slot));
      }
      given.sort((a, b) => a - b);
      for (const [at, time] of given.slice(1).entries()) {
        assert.ok(time - (given[at] ?? 0) >= 50 - 0.001, `${given[at]} and ${time}`);
      }
      assert.ok(given.length >= 80, `${given.length} slots in four seconds and a half`);
    });

    add('lines know nothing of one another, and one call reserves on several', async ({ hostShares }) => {
      const a = asking('host a.gov', { maxConcurrent: 4 });
      const b = asking('host a.gov:8080', { requestsPerSecond: 1 });
      const [first, second] = await hostShares.reserve('w1', [a, b], NOW);
      assert.equal(first?.places, 4);
      assert.equal(second?.places, null);
      assert.equal(second?.slots.length, 1);
      assert.equal((await reserveOne(hostShares, 'w2', asking('host b.gov', { maxConcurrent: 4 }), NOW)).places, 4);
      assert.deepEqual(await hostShares.reserve('w1', [], NOW), []);
    });

    add('jobs of equal weight get equal shares, and the answer names them', async ({ hostShares }) => {
      const ask: NamedAsk = {
        ...asking('host a.gov', { maxConcurrent: 12 }),
        demands: [
          { job: 'j"1 ü', weight: 1, places: 50, perSecond: 0 },
          { job: 'j2', weight: 1, places: 10, perSecond: 0 },
          { job: 'j3', weight: 2, places: 10, perSecond: 0 },
        ],
      };
      const share = await reserveOne(hostShares, 'w1', ask, NOW);
      assert.deepEqual(
        share.parts.map(([job, part]) => [job, Math.round(part * 100)]),
        [
          ['j"1 ü', 25],
          ['j2', 25],
          ['j3', 50],
        ],
      );
      assert.equal(share.isCut, true);
    });

    add('all processes keep the pace that one of them has found', async ({ hostShares }) => {
      const ask = asking('host a.gov', { maxConcurrent: 16 }, 50);
      const first = await reserveOne(hostShares, 'w1', ask, NOW);
      assert.deepEqual([first.health, first.slots.length], [null, 0]);
      const refusal = { agoMs: 200, acceptedPerSecond: 5, latencyMs: 100 };
      const cut = await reserveOne(hostShares, 'w1', { ...ask, news: { ...NO_NEWS, refusal } }, NOW + 1000);
      const pace = cut.health?.limits.requestsPerSecond ?? 0;
      assert.ok(pace > 3.9 && pace <= 4, `${pace} requests per second`);
      const other = await reserveOne(hostShares, 'w2', ask, NOW + 1001);
      assert.equal(other.health?.limits.requestsPerSecond, pace);
      const given = [...cut.slots.map((slot) => 1000 + slot), ...other.slots.map((slot) => 1001 + slot)];
      assert.ok(given.length >= 5 && given.length <= 7, `${given.length} slots in a second and a half`);
      const good = { ...NO_NEWS, good: 300, goodMs: 10 };
      const risen = await reserveOne(hostShares, 'w2', { ...ask, news: good }, NOW + 2001);
      assert.ok((risen.health?.limits.requestsPerSecond ?? 0) > 4.8);
      const elsewhere = await reserveOne(hostShares, 'w2', asking('host b.gov', { maxConcurrent: 16 }), NOW + 2001);
      assert.equal(elsewhere.health, null);
    });

    add(
      'a host that is away for one process is away for all, and gets one request at a time',
      async ({ hostShares }) => {
        const ask = asking('host a.gov', { maxConcurrent: 16 });
        await reserveOne(hostShares, 'w1', ask, NOW);
        const failing = { ...NO_NEWS, failures: 2, failingMs: 400, failedMs: 100 };
        await reserveOne(hostShares, 'w1', { ...ask, news: failing }, NOW + 1000);
        const summed = await reserveOne(hostShares, 'w2', { ...ask, news: failing }, NOW + 1500);
        assert.deepEqual([summed.health?.failures, summed.health?.failingMs, summed.health?.pauses], [4, 900, 0]);
        const away = { ...NO_NEWS, failures: 1, pauses: 1, pausedMs: 5000 };
        await reserveOne(hostShares, 'w1', { ...ask, news: away }, NOW + 2000);
        const told = await reserveOne(hostShares, 'w2', ask, NOW + 3000);
        assert.deepEqual([told.places, told.health?.pauses, told.health?.pausedMs], [0, 1, 4000]);
        // w1 has left, and w2 is the one that probes.
        assert.equal((await reserveOne(hostShares, 'w2', ask, NOW + 8000)).places, 1);
        assert.equal((await reserveOne(hostShares, 'w3', ask, NOW + 8001)).places, 0);
        const back = { ...NO_NEWS, good: 1, goodMs: 0 };
        assert.equal((await reserveOne(hostShares, 'w2', { ...ask, news: back }, NOW + 9000)).health, null);
      },
    );

    add('requests under way count as places, even if fewer are granted', async ({ hostShares }) => {
      const six = asking('host a.gov', { maxConcurrent: 6 });
      assert.equal((await reserveOne(hostShares, 'w1', six, NOW)).places, 6);
      assert.equal((await reserveOne(hostShares, 'w2', six, NOW)).places, 0);
      assert.equal((await reserveOne(hostShares, 'w1', { ...six, inside: 5 }, NOW + 1000)).places, 3);
      assert.equal((await reserveOne(hostShares, 'w2', six, NOW + 1001)).places, 1);
    });
  });
}
