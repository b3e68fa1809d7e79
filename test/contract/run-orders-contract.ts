import assert from 'node:assert/strict';
import { DEFAULT_POLICY } from '../../src/domain/policy.ts';
import type { RunOrder } from '../../src/domain/run-order.ts';
import type { RunOrders } from '../../src/ports/run-orders.ts';
import { NOW } from '../support/builders.ts';
import { type Opened, type SuiteOptions, suite } from './suite.ts';

export interface RunOrdersParts {
  readonly runOrders: RunOrders;
}

function order(id: string, more: Partial<RunOrder> = {}): RunOrder {
  return {
    ...{
      id,
      domain: 'county.gov',
      runId: 'r1',
      round: 1,
      isFilled: false,
      again: [],
      scraperId: 'pages',
      field: 'url',
    },
    ...{ sessions: 3, strategy: 'domain-affinity', maxItemsPerSession: 50, policy: DEFAULT_POLICY, startedAt: NOW },
    ...more,
  };
}

/** Everything that the comments of `ports/run-orders.ts` promise. `open` makes one without orders. */
export function runOrdersContract(
  name: string,
  open: () => Promise<Opened<RunOrdersParts>>,
  options: SuiteOptions = {},
): void {
  suite<RunOrdersParts>(`orders of runs on ${name}`, open, options, (add) => {
    add(
      'of several starts at the same time one gets the domain, and the others see what it does',
      async ({ runOrders }) => {
        const ids = ['a', 'b', 'c', 'd'];
        const answers = await Promise.all(ids.map((id) => runOrders.reserve('county.gov', id, NOW)));
        assert.deepEqual(answers.map(({ kind }) => kind).sort(), ['reserved', 'starting', 'starting', 'starting']);
        const winner = ids[answers.findIndex(({ kind }) => kind === 'reserved')] ?? '';
        const loser = ids.find((id) => id !== winner) ?? '';
        assert.equal((await runOrders.reserve('city.gov', loser, NOW)).kind, 'reserved');
        assert.deepEqual(await runOrders.list(), []);
        assert.equal(await runOrders.begin(order(loser)), false);
        assert.equal(await runOrders.begin(order(winner)), true);
        assert.deepEqual(await runOrders.reserve('county.gov', loser, NOW), { kind: 'carried', order: order(winner) });
        assert.deepEqual(await runOrders.list(), [order(winner)]);
      },
    );

    add(
      'a reservation is given up by its owner, or void after some minutes; an order is not',
      async ({ runOrders }) => {
        await runOrders.reserve('county.gov', 'a', NOW);
        await runOrders.release('county.gov', 'b');
        assert.equal((await runOrders.reserve('county.gov', 'b', NOW + 60_000)).kind, 'starting');
        await runOrders.release('county.gov', 'a');
        assert.equal((await runOrders.reserve('county.gov', 'b', NOW + 60_000)).kind, 'reserved');
        assert.equal((await runOrders.reserve('county.gov', 'c', NOW + 600_000)).kind, 'reserved');
        assert.equal(await runOrders.begin(order('b')), false);
        await runOrders.begin(order('c'));
        await runOrders.release('county.gov', 'c');
        assert.equal((await runOrders.reserve('county.gov', 'd', NOW + 6_000_000)).kind, 'carried');
      },
    );

    add('an order changes and ends only as what it was read as', async ({ runOrders }) => {
      await runOrders.reserve('county.gov', 'a', NOW);
      await runOrders.begin(order('a'));
      const second = order('a', { round: 2 });
      assert.equal(await runOrders.change(order('a'), second), true);
      assert.equal(await runOrders.change(order('a'), order('a', { round: 3 })), false);
      await runOrders.end(order('a'));
      await runOrders.end(order('b', { round: 2 }));
      assert.deepEqual(await runOrders.list(), [second]);
      await runOrders.end(second);
      await runOrders.end(second);
      assert.deepEqual(await runOrders.list(), []);
      assert.equal((await runOrders.reserve('county.gov', 'b', NOW)).kind, 'reserved');
    });

    add('all orders are listed, however many there are', async ({ runOrders }) => {
      const domains = Array.from({ length: 120 }, (_, at) => `d${String(at).padStart(3, '0')}.gov`);
      await Promise.all(
        domains.map(async (domain) => {
          await runOrders.reserve(domain, domain, NOW);
          await runOrders.begin(order(domain, { domain }));
        }),
      );
      assert.deepEqual((await runOrders.list()).map(({ domain }) => domain).sort(), domains);
    });
  });
}
