import { after } from 'node:test';
import { openAwsClients } from '../../src/adapters/aws/clients.ts';
import { openDynamoLedger } from '../../src/adapters/aws/ledger.ts';
import { provisionTable } from '../../src/adapters/aws/provision-table.ts';
import { systemClock } from '../../src/adapters/system/clock.ts';
import { startDynamo } from '../support/aws/emulators.ts';
import { leadershipContract } from './leadership-contract.ts';
import { ledgerContract } from './ledger-contract.ts';

const dynamoServer = await startDynamo();
const clients = openAwsClients({
  region: 'us-east-1',
  credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
  endpoints: { dynamo: dynamoServer.url },
});
after(async () => {
  clients.close();
  await dynamoServer.stop();
});

const { dynamo } = clients;
const clock = systemClock();
let tables = 0;

/** A real table each, on an emulator, over HTTP. */
async function openTable() {
  tables += 1;
  const tableName = `table-${tables}`;
  await provisionTable({ dynamo, tableName, clock, signal: new AbortController().signal });
  return openDynamoLedger({ dynamo, tableName, clock, listen: false });
}

// A sequence takes seconds here: every step is compared by some fifty requests.
ledgerContract('DynamoDB', openTable, { runs: 5, commands: 40 });
leadershipContract('DynamoDB', openTable);
