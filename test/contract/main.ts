import { parseArgs } from 'node:util';
import { startDynamoLedgers } from './dynamo-ledgers.ts';
import { checkSequences } from './ledger/model-cases.ts';

/** `npm run sequences -- [--runs 50] [--commands 120] [--seed N]`: what takes too long for every run of the tests. */
const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '50' },
    commands: { type: 'string', default: '120' },
    seed: { type: 'string' },
  },
});
const seed = values.seed === undefined ? Date.now() % 2 ** 31 : Number(values.seed);
console.log(`seed ${seed}`);
const ledgers = await startDynamoLedgers();
try {
  await checkSequences(ledgers.open, { runs: Number(values.runs), commands: Number(values.commands), seed });
  console.log(`${values.runs} sequences of up to ${values.commands} commands agree with the model`);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
} finally {
  await ledgers.stop();
}
