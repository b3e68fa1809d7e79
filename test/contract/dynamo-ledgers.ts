import { openAwsClients } from '../../src/adapters/aws/clients.ts';
import { DynamoHostPauses } from '../../src/adapters/aws/host-pauses.ts';
import { DynamoHostRecords } from '../../src/adapters/aws/host-records.ts';
import { DynamoHostSettings } from '../../src/adapters/aws/host-settings.ts';
import { DynamoHostShares } from '../../src/adapters/aws/host-shares.ts';
import { openDynamoLedger } from '../../src/adapters/aws/ledger.ts';
import { provisionTable } from '../../src/adapters/aws/provision/table.ts';
import { DynamoStepRecords } from '../../src/adapters/aws/step-records.ts';
import { systemClock } from '../../src/adapters/system/clock.ts';
import type { HostShares } from '../../src/ports/host-shares.ts';
import { startDynamo } from '../support/aws/emulators.ts';

/** Ledgers on an emulator, over HTTP, each with a real table of its own. */
export async function startDynamoLedgers() {
  const server = await startDynamo();
  const clients = openAwsClients({
    region: 'us-east-1',
    credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
    endpoints: { dynamo: server.url },
  });
  const { dynamo } = clients;
  const clock = systemClock();
  let tables = 0;
  return {
    async open() {
      tables += 1;
      const tableName = `ledger-${process.pid}-${tables}`;
      await provisionTable({ dynamo, tableName, clock, signal: new AbortController().signal });
      const hostPauses = new DynamoHostPauses({ dynamo, tableName, clock });
      const hostSettings = new DynamoHostSettings({ dynamo, tableName, clock });
      // Each process has its own.
      const processes = new Map<string, DynamoHostShares>();
      const hostShares: HostShares = {
        reserve(process, asks, now) {
          const own = processes.get(process) ?? new DynamoHostShares({ dynamo, tableName, clock });
          processes.set(process, own);
          return own.reserve(process, asks, now);
        },
      };
      const hostRecords = new DynamoHostRecords({ dynamo, tableName, clock });
      const stepRecords = new DynamoStepRecords({ dynamo, tableName, clock });
      const records = { hostPauses, hostSettings, hostShares, hostRecords, stepRecords };
      return { ...openDynamoLedger({ dynamo, tableName, clock, listen: false }), ...records };
    },
    async stop() {
      clients.close();
      await server.stop();
    },
  };
}
