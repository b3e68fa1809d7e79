import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { workOrderOf } from '../../domain/work-order.ts';
import type { Clock } from '../../ports/clock.ts';
import { composeLedger } from '../../ports/compose-ledger.ts';
import type { Leadership } from '../../ports/leadership.ts';
import type { Ledger } from '../../ports/ledger.ts';
import { atOnce } from './at-once.ts';
import { num, text } from './dynamo/attributes.ts';
import { Table } from './dynamo/table.ts';
import { IdIndex } from './ids/id-index.ts';
import { DynamoLeadership } from './leadership.ts';
import type { Batch } from './ledger/batch-row.ts';
import { Books } from './ledger/books.ts';
import { dispatchJob } from './ledger/dispatching.ts';
import { FailureGroups } from './ledger/failure-groups.ts';
import { Purge } from './ledger/garbage.ts';
import { DynamoItemBook } from './ledger/item-book.ts';
import { DynamoJobBook } from './ledger/job-book.ts';
import { batchIdOfToken, parseBatchId } from './ledger/keys.ts';
import { beginItem, claimBatches, renewLease } from './ledger/leasing.ts';
import { News } from './ledger/news.ts';
import { Returning } from './ledger/returning.ts';
import { Settling } from './ledger/settling.ts';

export interface DynamoLedgerDeps {
  readonly dynamo: DynamoDBClient;
  readonly tableName: string;
  readonly clock: Clock;
  /**
   * Whether to listen for changes by other processes, and to clean up after those that died: a controller does, a
   * worker need not.
   */
  readonly listen: boolean;
  readonly onTrouble?: (where: string, error: unknown) => void;
}

interface DynamoLedgerOpened {
  readonly ledger: Ledger;
  readonly leadership: Leadership;
  /** A small write, to see whether there is space. */
  probe(): Promise<void>;
  /**
   * Finishes removals that a process began and could not finish. One that listens also does so by itself, every hour.
   */
  sweep(): Promise<void>;
  close(): Promise<void>;
}

export function openDynamoLedger(deps: DynamoLedgerDeps): DynamoLedgerOpened {
  const { dynamo, tableName, clock, listen, onTrouble = () => {} } = deps;
  const table = new Table(dynamo, tableName, clock);
  const ids = new IdIndex({ table, clock });
  const news = new News({ table, clock, listenEveryMs: listen ? LISTEN_EVERY_MS : null, onTrouble });
  const purge = new Purge({ table, ids, clock, sweepEveryMs: listen ? SWEEP_EVERY_MS : null, onTrouble });
  const books = new Books({ table, clock, ids, news });
  return {
    ledger: ledgerOn(books, news, purge),
    leadership: new DynamoLeadership(table),
    probe: () => table.put({ pk: text('PROBE'), sk: text('PROBE'), at: num(clock.now()) }),
    sweep: () => purge.sweep(),
    async close() {
      await news.close();
      await purge.close();
    },
  };
}

const LISTEN_EVERY_MS = 250;
const SWEEP_EVERY_MS = 3_600_000;

/** The ledger on one DynamoDB table: `ledger/keys.ts` lists its rows, and each file beside it does one thing. */
function ledgerOn(books: Books, news: News, purge: Purge): Ledger {
  const groups = new FailureGroups(books.table);
  const settling = new Settling(books, groups);
  const returning = new Returning(books, groups);
  return composeLedger({
    changes: news,
    jobs: new DynamoJobBook(books, purge),
    items: new DynamoItemBook(books, groups),
    leases: {
      dispatch: (...args) => dispatchJob(books, ...args),
      claim: (...args) => claimBatches(books, ...args),
      async workOrder(jobId) {
        const job = await books.readJob(jobId);
        return job === null ? null : workOrderOf(job.record);
      },
      begin: (token, seq) => beginItem(books, token, seq),
      async renew(tokens, until) {
        const held = await atOnce(RENEWALS_AT_ONCE, tokens, (token) => renewLease(books, token, until));
        return tokens.filter((_, index) => !held[index]);
      },
      clampTimes: (readLatest) => returning.clampTimes(readLatest),
      abandon: (worker, now) => returning.abandon(worker, now),
    },
    returns: {
      settle: (parts) => settling.settle(parts),
      async release(token, because, now, usage) {
        const name = parseBatchId(batchIdOfToken(token));
        return name !== null && (await returning.takeBack(name, because, isHeld(token), undefined, { now, usage }));
      },
      async recall(refs) {
        const ids = [...new Set(refs.map(({ batchId }) => batchId))];
        const names = ids.map(parseBatchId).filter((name) => name !== null);
        const recalled = await atOnce(RENEWALS_AT_ONCE, names, (name) =>
          returning.takeBack(name, 'recalled', ({ hold }) => hold === null),
        );
        return recalled.filter(Boolean).length;
      },
      expire: (readTimes, limit) => returning.expire(readTimes, limit),
    },
  });
}

const isHeld =
  (token: string) =>
  ({ hold }: Batch): boolean =>
    hold?.token === token;

const RENEWALS_AT_ONCE = 8;
