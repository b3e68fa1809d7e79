import { after } from 'node:test';
import { sized } from '../support/sized.ts';
import { startDynamoLedgers } from './dynamo-ledgers.ts';
import { modelCases } from './ledger/model-cases.ts';
import { suite } from './suite.ts';

const ledgers = await startDynamoLedgers();
after(() => ledgers.stop());

// In a file of its own, so that another processor has it: every step is compared by some fifty requests. Many long
// sequences are `npm run sequences`.
suite('sequences on DynamoDB', ledgers.open, {}, (add) => {
  modelCases(add, ledgers.open, sized({ quick: { runs: 2, commands: 25 }, slow: { runs: 5, commands: 40 } }));
});
