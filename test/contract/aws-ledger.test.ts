import { after } from 'node:test';
import { startDynamoLedgers } from './dynamo-ledgers.ts';
import { hostPausesContract } from './host-pauses-contract.ts';
import { hostRecordsContract } from './host-records-contract.ts';
import { hostSettingsContract } from './host-settings-contract.ts';
import { hostSharesContract } from './host-shares-contract.ts';
import { leadershipContract } from './leadership-contract.ts';
import { ledgerContract } from './ledger-contract.ts';
import { stepRecordsContract } from './step-records-contract.ts';

const ledgers = await startDynamoLedgers();
after(() => ledgers.stop());

// Generated sequences are in aws-sequences.test.ts.
ledgerContract('DynamoDB', ledgers.open, { runs: 0 });
leadershipContract('DynamoDB', ledgers.open);
hostPausesContract('DynamoDB', ledgers.open);
hostSettingsContract('DynamoDB', ledgers.open);
hostSharesContract('DynamoDB', ledgers.open);
hostRecordsContract('DynamoDB', ledgers.open);

stepRecordsContract('DynamoDB', ledgers.open);
