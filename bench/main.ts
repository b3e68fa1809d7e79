import { parseArgs } from 'node:util';
import { benchConcurrency } from './concurrency.ts';
import { benchEngine } from './engine.ts';
import { printTable } from './report.ts';

const USAGE = `usage: npm run bench -- engine [--items N] [--workers N] [--concurrency N] [--json]
       npm run bench -- concurrency [--items N] [--workers N] [--limit N] [--ms N] [--json]`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    items: { type: 'string' },
    workers: { type: 'string', default: '2' },
    concurrency: { type: 'string', default: '512' },
    limit: { type: 'string', default: '3' },
    ms: { type: 'string', default: '10' },
    json: { type: 'boolean', default: false },
  },
});

const say = values.json ? () => {} : (line: string) => console.error(line);
const result = await run(positionals[0]);
if (values.json) console.log(JSON.stringify(result));
else printTable(result);

async function run(name: string | undefined): Promise<Readonly<Record<string, unknown>>> {
  const workers = positive('workers', values.workers);
  switch (name) {
    case 'engine': {
      const items = positive('items', values.items ?? '100000');
      return benchEngine({ items, workers, concurrency: positive('concurrency', values.concurrency) }, say);
    }
    case 'concurrency': {
      const items = positive('items', values.items ?? '2000');
      return benchConcurrency({
        items,
        workers,
        limit: positive('limit', values.limit),
        ms: positive('ms', values.ms),
      });
    }
    default:
      console.error(USAGE);
      return process.exit(2);
  }
}

function positive(option: string, text: string): number {
  const number = Number(text.replaceAll('_', ''));
  if (Number.isInteger(number) && number > 0) return number;
  console.error(`--${option}: ${text} is not a whole number above 0`);
  return process.exit(2);
}
