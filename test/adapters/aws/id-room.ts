import { after, before } from 'node:test';
import { CreateTableCommand, type DynamoDBClient, type WriteRequest } from '@aws-sdk/client-dynamodb';
import { openAwsClients } from '../../../src/adapters/aws/clients.ts';
import type { Row } from '../../../src/adapters/aws/dynamo/attributes.ts';
import { rowBytes } from '../../../src/adapters/aws/dynamo/row-size.ts';
import { Table } from '../../../src/adapters/aws/dynamo/table.ts';
import { IdIndex, type IdIndexDeps } from '../../../src/adapters/aws/ids/id-index.ts';
import { shardKeys } from '../../../src/adapters/aws/ids/id-run.ts';
import { startDynamo } from '../../support/aws/emulators.ts';
import { FakeClock } from '../../support/fake-clock.ts';

/** Files share an emulator, and some a process. */
let rooms = 0;

/** A table for the tests of a file, and a clock that all who use it share. */
export interface IdRoom {
  readonly tableName: string;
  readonly clock: HastyClock;
  /** Opens the index as another process would: with a client of its own, whose requests are counted. */
  open(parts?: Partial<IdIndexDeps>): {
    readonly dynamo: DynamoDBClient;
    readonly table: Table;
    readonly meter: Meter;
    readonly index: IdIndex;
  };
  /** How many rows the index of a job has. */
  rowsOf(inc: string): Promise<number>;
}

export function openIdRoom(): IdRoom {
  rooms += 1;
  const tableName = `ids-${process.pid}-${rooms}`;
  const clock = new HastyClock();
  const clients: { close(): void }[] = [];
  let url = '';
  let stop = async () => {};
  const connect = () => {
    const client = openAwsClients({
      region: 'us-east-1',
      credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
      endpoints: { dynamo: url },
    });
    clients.push(client);
    return client.dynamo;
  };
  before(async () => {
    ({ url, stop } = await startDynamo());
    await connect().send(
      new CreateTableCommand({
        TableName: tableName,
        BillingMode: 'PAY_PER_REQUEST',
        AttributeDefinitions: ['pk', 'sk'].map((name) => ({ AttributeName: name, AttributeType: 'S' })),
        KeySchema: [
          { AttributeName: 'pk', KeyType: 'HASH' },
          { AttributeName: 'sk', KeyType: 'RANGE' },
        ],
      }),
    );
  });
  after(async () => {
    for (const client of clients) client.close();
    await stop();
  });
  return {
    tableName,
    clock,
    open(parts) {
      const dynamo = connect();
      const table = new Table(dynamo, tableName, clock);
      return { dynamo, table, meter: new Meter(dynamo), index: new IdIndex({ table, clock, ...parts }) };
    },
    async rowsOf(inc) {
      const table = new Table(connect(), tableName, clock);
      const rows = await Promise.all(shardKeys(inc).map((pk) => table.all({ pk })));
      return rows.flat().length;
    },
  };
}

/** A clock whose time moves on at once when a caller sleeps. */
export class HastyClock extends FakeClock {
  readonly pauses: number[] = [];

  override async sleep(ms: number): Promise<void> {
    this.pauses.push(ms);
    await this.advance(ms);
  }
}

/** A client's requests, and the write units of its batches by the documented rule: each kilobyte begun, of each row. */
export class Meter {
  readonly #rows = new Map<string, number>();
  requests: string[] = [];
  writeUnits = 0;
  readUnits = 0;

  constructor(dynamo: DynamoDBClient) {
    dynamo.middlewareStack.add(
      (next, context) => async (args) => {
        const name = String(context['commandName']).replace(/Command$/, '');
        this.requests.push(name);
        const answer = await next(args);
        if (name === 'BatchWriteItem') this.#countWrites(tableOf(args.input, 'RequestItems'));
        if (name === 'BatchGetItem') this.#countReads(tableOf(answer.output, 'Responses'));
        return answer;
      },
      { step: 'initialize' },
    );
  }

  reset(): void {
    this.requests = [];
    this.writeUnits = 0;
    this.readUnits = 0;
  }

  /** A delete costs what the row had, and one unit where there was none. */
  #countWrites(requests: readonly WriteRequest[]): void {
    for (const { PutRequest, DeleteRequest } of requests) {
      const row = PutRequest?.Item ?? DeleteRequest?.Key ?? {};
      const name = `${row['pk']?.S} ${row['sk']?.S}`;
      const before = this.#rows.get(name) ?? 0;
      const after = PutRequest === undefined ? 0 : rowBytes(row);
      this.writeUnits += Math.max(1, Math.ceil(Math.max(before, after) / 1024));
      this.#rows.set(name, after);
    }
  }

  #countReads(rows: readonly Row[]): void {
    for (const row of rows) this.readUnits += Math.ceil(rowBytes(row) / 4096);
  }
}

function tableOf<T>(of: object, field: string): readonly T[] {
  // There is one table.
  return Object.values((of as Record<string, Record<string, readonly T[]> | undefined>)[field] ?? {}).flat();
}
