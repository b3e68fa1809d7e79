import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Committer } from '../../src/adapters/embedded/ledger/committer.ts';
import { openDatabase } from '../../src/adapters/embedded/ledger/database.ts';
import { Durability } from '../../src/adapters/embedded/ledger/durability.ts';
import { Removal } from '../../src/adapters/embedded/ledger/removal.ts';
import { Tables } from '../../src/adapters/embedded/ledger/tables.ts';
import { ledgerOn } from '../../src/adapters/embedded/ledger.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { sized } from '../support/sized.ts';
import { ledgerContract } from './ledger-contract.ts';

/**
 * The same ledger, with a change in every group that throws: everything is rolled back once, what is in memory is
 * dropped, and the work is done again. No caller may notice.
 */
async function openWithNeighbourThatThrows() {
  const folder = mkdtempSync(join(tmpdir(), 'trawl-rollback-'));
  const clock = new FakeClock();
  const database = openDatabase(join(folder, 'ledger.db'));
  const tables = new Tables(database.sql, clock, { afterMachineCrash: false });
  const durability = new Durability(
    database,
    async () => {},
    async () => {},
  );
  const committer = new Committer({ database, durability, working: tables, clock });
  const removal = new Removal({ sql: database.sql, committer, clock });
  const ledger = ledgerOn({ tables, committer, removal });

  const throwInSameGroup = () =>
    committer
      .applied(() => {
        throw new Error('a bug of somebody else');
      })
      .catch(() => {});
  const troubled = new Proxy(ledger, {
    get(target, name) {
      const method: unknown = Reflect.get(target, name, target);
      if (typeof method !== 'function') return method;
      return (...args: unknown[]) => {
        const answer: unknown = Reflect.apply(method, target, args);
        void throwInSameGroup();
        return answer;
      };
    },
  });
  return {
    ledger: troubled,
    async close() {
      await removal.stop();
      await committer.close();
      database.close();
      rmSync(folder, { recursive: true });
    },
  };
}

ledgerContract('embedded, where every group is rolled back once', openWithNeighbourThatThrows, {
  runs: sized({ quick: 4, slow: 20 }),
});
