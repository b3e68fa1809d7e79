import { parseArgs } from 'node:util';
import { benchEngine } from './engine.ts';
import { printTable } from './report.ts';

/** `npm run bench -- engine --items 1000000 [--json]` */
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    items: { type: 'string', default: '100000' },
    workers: { type: 'string', default: '2' },
    concurrency: { type: 'string', default: '512' },
    json: { type: 'boolean', default: false },
  },
});

const [name] = positionals;
if (name !== 'engine') {
  console.error('usage: npm run bench -- engine [--items N] [--workers N] [--concurrency N] [--json]');
  process.exitCode = 2;
} else {
  const say = values.json ? () => {} : (line: string) => console.error(line);
  const result = await benchEngine(
    {
      items: positive('items', values.items),
      workers: positive('workers', values.workers),
      concurrency: positive('concurrency', values.concurrency),
    },
    say,
  );
  if (values.json) console.log(JSON.stringify(result));
  else printTable(result);
}

function positive(option: string, text: string): number {
  const number = Number(text.replaceAll('_', ''));
  if (Number.isInteger(number) && number > 0) return number;
  console.error(`--${option}: ${text} is not a whole number above 0`);
  process.exit(2);
}
