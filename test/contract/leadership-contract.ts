import assert from 'node:assert/strict';
import type { Leadership } from '../../src/ports/leadership.ts';
import { NOW } from '../support/builders.ts';
import { type Opened, type SuiteOptions, suite } from './suite.ts';

export interface LeadershipParts {
  readonly leadership: Leadership;
}

/** Everything that the comments of `ports/leadership.ts` promise. `open` makes one that has not been taken. */
export function leadershipContract(
  name: string,
  open: () => Promise<Opened<LeadershipParts>>,
  options: SuiteOptions = {},
): void {
  suite<LeadershipParts>(`leadership on ${name}`, open, options, (add) => {
    add('the first leads, and a second does not while that time lasts', async ({ leadership }) => {
      assert.equal(await leadership.lead('a', NOW + 1000, NOW), 'leads');
      assert.equal(await leadership.lead('b', NOW + 2000, NOW + 999), false);
      assert.equal(await leadership.lead('b', NOW + 3000, NOW + 1001), 'overtook');
      assert.equal(await leadership.lead('a', NOW + 4000, NOW + 1002), false);
    });

    add(
      'the leader may extend its time, and a process that asks in vain does not shorten it',
      async ({ leadership }) => {
        await leadership.lead('a', NOW + 1000, NOW);
        assert.equal(await leadership.lead('b', NOW + 600, NOW), false);
        assert.equal(await leadership.lead('a', NOW + 5000, NOW + 900), 'leads');
        assert.equal(await leadership.lead('b', NOW + 9000, NOW + 4999), false);
      },
    );

    add('a leader whose time ran out may take the lead again if no other process did', async ({ leadership }) => {
      await leadership.lead('a', NOW + 1000, NOW);
      assert.equal(await leadership.lead('a', NOW + 9000, NOW + 8000), 'leads');
      assert.equal(await leadership.lead('b', NOW + 9000, NOW + 8001), false);
    });

    add('a time further ahead than it can have been set does not keep others from leading', async ({ leadership }) => {
      const hour = 3_600_000;
      await leadership.lead('a', NOW + hour + 1000, NOW + hour);
      // The clock was set back by an hour, and the leader is gone.
      assert.equal(await leadership.lead('b', NOW + 1000, NOW), 'overtook');
      assert.equal(await leadership.lead('a', NOW + 1000, NOW), false);
      // A process whose clock is slightly slower than the leader's accepts that time.
      assert.equal(await leadership.lead('a', NOW - 900 + 1000, NOW - 900), false);
    });

    add(
      'a leader that resigns makes room at once, and a process can resign only for itself',
      async ({ leadership }) => {
        await leadership.resign('nobody');
        await leadership.lead('a', NOW + 1000, NOW);
        await leadership.resign('b');
        assert.equal(await leadership.lead('b', NOW + 1000, NOW), false);
        await leadership.resign('a');
        await leadership.resign('a');
        assert.equal(await leadership.lead('b', NOW + 1000, NOW), 'leads');
        await leadership.resign('a');
        assert.equal(await leadership.lead('a', NOW + 1000, NOW), false);
      },
    );

    add(
      'a leader that took over from one that did not resign is informed of it for as long as it leads',
      async ({ leadership }) => {
        await leadership.lead('a', NOW + 1000, NOW);
        assert.equal(await leadership.lead('b', NOW + 3000, NOW + 2000), 'overtook');
        assert.equal(
          await leadership.lead('b', NOW + 4000, NOW + 2500),
          'overtook',
          'a lost answer is asked for again',
        );
        assert.equal(await leadership.lead('b', NOW + 9000, NOW + 8000), 'overtook', 'after a lapse of its own');
        assert.equal(await leadership.lead('a', NOW + 20_000, NOW + 10_000), 'overtook', 'the other way round');
        await leadership.resign('a');
        assert.equal(await leadership.lead('b', NOW + 30_000, NOW + 11_000), 'leads', 'it was given up');
      },
    );

    add('of many processes that ask at the same time, one leads', async ({ leadership }) => {
      const holders = ['a', 'b', 'c', 'd', 'e'];
      const answers = await Promise.all(holders.map((holder) => leadership.lead(holder, NOW + 1000, NOW)));
      assert.equal(answers.filter(Boolean).length, 1);
    });
  });
}
