import { parseArgs } from 'node:util';
import { crashLoop } from './crash-loop.ts';

/** `npm run crash -- --kills 200 [--items 6000] [--keep]` */
const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '50' },
    items: { type: 'string', default: '6000' },
    seed: { type: 'string', default: '1' },
    keep: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
  },
});

const report = await crashLoop({
  kills: Number(values.kills),
  itemsPerJob: Number(values.items),
  seed: Number(values.seed),
  keep: values.keep,
  say: values.json ? () => {} : (line) => console.error(line),
});
console.log(values.json ? JSON.stringify(report) : report.lines.join('\n'));
process.exitCode = report.isWhole ? 0 : 1;
