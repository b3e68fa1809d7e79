import assert from 'node:assert/strict';
import { MAX_PAUSE_MS } from '../../src/domain/host-pause.ts';
import type { HostPauses } from '../../src/ports/host-pauses.ts';
import { NOW } from '../support/builders.ts';
import { type Opened, type SuiteOptions, suite } from './suite.ts';

export interface HostPausesParts {
  readonly hostPauses: HostPauses;
}

/** Everything that the comments of `ports/host-pauses.ts` promise. `open` makes one without pauses. */
export function hostPausesContract(
  name: string,
  open: () => Promise<Opened<HostPausesParts>>,
  options: SuiteOptions = {},
): void {
  suite<HostPausesParts>(`pauses of hosts on ${name}`, open, options, (add) => {
    const told = (host: string, ms: number, reason = 'slow down') => ({ host, until: NOW + ms, reason });
    const report = (host: string, ms: number, reason = 'slow down', at = NOW) => ({ ...told(host, ms, reason), at });

    add('pauses are in force from their report to their end, by host', async ({ hostPauses }) => {
      assert.deepEqual(await hostPauses.inForce(NOW), []);
      await hostPauses.pause(report('b.gov:8080', 2000), 'w1', NOW);
      await hostPauses.pause(report('[::1]', 1000, 'a "reason"\n\u2028 in words'), 'w1', NOW);
      const six = { ...told('[::1]', 1000, 'a "reason"\n\u2028 in words'), reportedBy: 1 };
      const county = { ...told('b.gov:8080', 2000), reportedBy: 1 };
      assert.deepEqual(await hostPauses.inForce(NOW + 999), [six, county]);
      assert.deepEqual(await hostPauses.inForce(NOW + 1000), [county]);
      assert.deepEqual(await hostPauses.inForce(NOW + 2000), []);
    });

    add(
      'the pause that ends last is in force, with its reason, and every worker is counted once',
      async ({ hostPauses }) => {
        await hostPauses.pause(report('a.gov', 2000, 'first'), 'w1', NOW);
        await hostPauses.pause(report('a.gov', 2000, 'first'), 'w1', NOW + 1);
        assert.deepEqual(await hostPauses.inForce(NOW + 1), [{ ...told('a.gov', 2000, 'first'), reportedBy: 1 }]);
        await hostPauses.pause(report('a.gov', 1000, 'sooner'), 'w2', NOW);
        assert.deepEqual(await hostPauses.inForce(NOW + 1), [{ ...told('a.gov', 2000, 'first'), reportedBy: 2 }]);
        await hostPauses.pause(report('a.gov', 5000, 'later'), 'w3', NOW);
        assert.deepEqual(await hostPauses.inForce(NOW + 1), [{ ...told('a.gov', 5000, 'later'), reportedBy: 3 }]);
      },
    );

    add('a pause that is over counts for nothing in the next', async ({ hostPauses }) => {
      await hostPauses.pause(report('a.gov', 1000, 'then'), 'w1', NOW);
      await hostPauses.pause(report('a.gov', 1500, 'now'), 'w2', NOW + 1000);
      assert.deepEqual(await hostPauses.inForce(NOW + 1000), [{ ...told('a.gov', 1500, 'now'), reportedBy: 1 }]);
    });

    add('a pause that ends later than any can be set for is not in force, and gives way', async ({ hostPauses }) => {
      await hostPauses.pause(report('a.gov', MAX_PAUSE_MS + 1), 'w1', NOW);
      assert.deepEqual(await hostPauses.inForce(NOW), []);
      await hostPauses.pause(report('a.gov', 1000), 'w2', NOW);
      assert.deepEqual(await hostPauses.inForce(NOW), [{ ...told('a.gov', 1000), reportedBy: 1 }]);
    });

    add('a pause is lifted for all workers, once, and a later report begins a new one', async ({ hostPauses }) => {
      await hostPauses.pause(report('a.gov', 1000), 'w1', NOW);
      await hostPauses.pause(report('b.gov', 1000), 'w1', NOW);
      assert.equal(await hostPauses.lift('a.gov', NOW + 1), true);
      assert.equal(await hostPauses.lift('a.gov', NOW + 1), false);
      assert.deepEqual(
        (await hostPauses.inForce(NOW + 1)).map(({ host }) => host),
        ['b.gov'],
      );
      await hostPauses.pause(report('a.gov', 500, 'again', NOW + 2), 'w2', NOW + 2);
      assert.deepEqual(await hostPauses.inForce(NOW + 2), [
        { ...told('a.gov', 500, 'again'), reportedBy: 1 },
        { ...told('b.gov', 1000), reportedBy: 1 },
      ]);
    });

    add('a late report of what the host said before its pause was lifted changes nothing', async ({ hostPauses }) => {
      await hostPauses.pause(report('a.gov', 1000), 'w1', NOW);
      await hostPauses.lift('a.gov', NOW + 10);
      for (const [ms, at] of [
        [1000, 9],
        [500, 10],
        [9000, 5],
      ] as const) {
        await hostPauses.pause(report('a.gov', ms, 'late', NOW + at), 'w2', NOW + 20);
        assert.deepEqual(await hostPauses.inForce(NOW + 20), []);
      }
      assert.equal(await hostPauses.lift('a.gov', NOW + 20), false);
      await hostPauses.pause(report('a.gov', 700, 'again', NOW + 11), 'w3', NOW + 20);
      assert.deepEqual(await hostPauses.inForce(NOW + 20), [{ ...told('a.gov', 700, 'again'), reportedBy: 1 }]);
      assert.equal(await hostPauses.lift('a.gov', NOW + 21), true);
    });

    add('there is nothing to lift of a host that was never paused, or no longer is', async ({ hostPauses }) => {
      assert.equal(await hostPauses.lift('a.gov', NOW), false);
      await hostPauses.pause(report('a.gov', 1000), 'w1', NOW);
      assert.equal(await hostPauses.lift('a.gov', NOW + 1000), false);
    });

    add('no report is lost when several arrive at the same time', async ({ hostPauses }) => {
      const workers = Array.from({ length: 8 }, (_, at) => `w${at}`);
      await Promise.all(workers.map((worker, at) => hostPauses.pause(report('a.gov', 1000 + at), worker, NOW)));
      assert.deepEqual(await hostPauses.inForce(NOW), [{ ...told('a.gov', 1007), reportedBy: 8 }]);
    });
  });
}
