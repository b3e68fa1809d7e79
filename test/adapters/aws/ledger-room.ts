import { after, before } from 'node:test';
import { DeleteItemCommand, PutItemCommand, ScanCommand } from '@aws-sdk/client-dynamodb';
import { type AwsClients, openAwsClients } from '../../../src/adapters/aws/clients.ts';
import { type DynamoLedgerDeps, openDynamoLedger } from '../../../src/adapters/aws/ledger.ts';
import { provisionTable } from '../../../src/adapters/aws/provision/table.ts';
import { systemClock } from '../../../src/adapters/system/clock.ts';
import { startDynamo } from '../../support/aws/emulators.ts';
import { type Relay, type Relaying, startRelay } from '../../support/aws/relay.ts';
import { FakeClock } from '../../support/fake-clock.ts';

/** Files share an emulator, and some a process. */
let rooms = 0;

/** A table for the tests of a file, and ledgers on it, each as in a process of its own. */
export interface LedgerRoom {
  /** `relaying`: what happens to requests between the ledger and the table. */
  open(parts?: Partial<DynamoLedgerDeps>, relaying?: Relaying): Promise<ReturnType<typeof openDynamoLedger>>;
  /** Keys of all rows but those of news, as `pk sk`. */
  rows(): Promise<readonly string[]>;
  /** Gives the marks of reopened items the names that an older version gave them, a row for each retry. */
  renameMarks(): Promise<void>;
  /** Turns all groups of failures into what they were before they recorded where and when. */
  ageGroups(): Promise<void>;
}

export function openLedgerRoom(): LedgerRoom {
  rooms += 1;
  const tableName = `ledger-room-${process.pid}-${rooms}`;
  const clock = systemClock();
  const clients: AwsClients[] = [];
  const relays: Relay[] = [];
  const opened: { close(): Promise<void> }[] = [];
  let url = '';
  let stop = async () => {};
  const connect = (dynamo: string) => {
    const credentials = { accessKeyId: 'test', secretAccessKey: 'test' };
    const client = openAwsClients({ region: 'us-east-1', credentials, endpoints: { dynamo } });
    clients.push(client);
    return client.dynamo;
  };
  before(async () => {
    ({ url, stop } = await startDynamo());
    await provisionTable({
      ...{ dynamo: connect(url), tableName, clock, signal: new AbortController().signal },
    });
  });
  after(async () => {
    for (const each of opened) await each.close();
    for (const client of clients) client.close();
    for (const relay of relays) await relay.stop();
    await stop();
  });
  return {
    async open(parts = {}, relaying) {
      const relay = relaying === undefined ? null : await startRelay(url, relaying);
      if (relay !== null) relays.push(relay);
      const dynamo = connect(relay?.url ?? url);
      const ledger = openDynamoLedger({ dynamo, tableName, clock, listen: false, ...parts });
      opened.push(ledger);
      return ledger;
    },
    async rows() {
      const { Items = [] } = await connect(url).send(new ScanCommand({ TableName: tableName, ConsistentRead: true }));
      const names = Items.map((row) => `${row['pk']?.S} ${row['sk']?.S}`);
      return names.filter((name) => !name.startsWith('NEWS#'));
    },
    async renameMarks() {
      const dynamo = connect(url);
      const { Items = [] } = await dynamo.send(new ScanCommand({ TableName: tableName, ConsistentRead: true }));
      for (const { pk, sk, items } of Items) {
        if (sk?.S !== 'R#' || pk === undefined || items === undefined) continue;
        await dynamo.send(
          new PutItemCommand({ TableName: tableName, Item: { pk, sk: { S: `R#${clock.id()}` }, items } }),
        );
        await dynamo.send(new DeleteItemCommand({ TableName: tableName, Key: { pk, sk } }));
      }
    },
    async ageGroups() {
      const dynamo = connect(url);
      const { Items = [] } = await dynamo.send(new ScanCommand({ TableName: tableName, ConsistentRead: true }));
      for (const { firstAt, lastAt: _, kind, ...row } of Items) {
        if (firstAt === undefined || kind?.S === undefined) continue;
        const { place: _place, ...older } = JSON.parse(kind.S);
        const Item = { ...row, kind: { S: JSON.stringify(older) } };
        await dynamo.send(new PutItemCommand({ TableName: tableName, Item }));
      }
    },
  };
}

/** Its time does not pass by itself, as in any fake clock; but all who share a table make names, which must differ. */
export class OwnClock extends FakeClock {
  readonly #names = systemClock();

  override id(): string {
    return this.#names.id();
  }

  /** Resolves when this many tasks in the background have nothing to do but wait. */
  async rest(sleepers: number): Promise<void> {
    while (this.sleepers < sleepers) await this.turn();
  }
}
