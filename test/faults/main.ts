import { parseArgs } from 'node:util';
import { runUnderFaults } from './run.ts';

/** `npm run faults -- --items 20000 [--seed 1] [--rate 0.2]` */
const { values } = parseArgs({
  options: {
    items: { type: 'string', default: '20000' },
    seed: { type: 'string', default: '1' },
    rate: { type: 'string', default: '0.2' },
    verbose: { type: 'boolean', default: false },
  },
});

const rate = Number(values.rate);
const { problems, ...report } = await runUnderFaults({
  items: Number(values.items),
  seed: Number(values.seed),
  // Errors of all kinds together make up the rate; what only happens to messages comes on top.
  rates: {
    ...{ refuse: rate / 2, drop: rate / 4, loseReply: rate / 4 },
    ...{ partial: rate, duplicate: rate, delay: rate / 2, reorder: rate, slow: rate / 4 },
  },
  say: (line) => {
    if (values.verbose || !line.startsWith('  ')) console.error(line);
  },
});
for (const problem of problems.slice(0, 50)) console.log(problem);
console.log(JSON.stringify({ ...report, problems: problems.length }, null, 1));
process.exitCode = problems.length === 0 ? 0 : 1;
