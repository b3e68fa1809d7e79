import { parseArgs } from 'node:util';
import { benchApi } from './api.ts';
import { benchAws } from './aws.ts';
import { benchConcurrency } from './concurrency.ts';
import { benchCreate } from './create.ts';
import { benchEngine } from './engine.ts';
import { benchExtract } from './extract.ts';
import { benchHttp, HTTP_SUBJECTS, printHttp } from './http.ts';
import { printTable } from './report.ts';
import { benchStarvation } from './starvation.ts';

const USAGE = `usage: npm run bench -- engine [--items N] [--workers N] [--concurrency N] [--json]
       npm run bench -- api [--items N] [--workers N] [--concurrency N] [--json]
       npm run bench -- create [--items N] [--kills N] [--json]
       npm run bench -- extract [--items N] [--workers N] [--json]
       npm run bench -- aws [--items N] [--workers N] [--keeps nothing|files|both] [--ms N] [--json]
       npm run bench -- concurrency [--items N] [--workers N] [--limit N] [--ms N] [--json]
       npm run bench -- starvation [--workers N] [--hanging N] [--hosts N] [--dead-dns N] [--items N] [--ms N] [--json]
       npm run bench -- http [--items N] [--only ${HTTP_SUBJECTS.join(',')}] [--json]

http fetches pages of the demo county, takes ten fields of each and keeps three files on the disk: by Trawl with one and
with two worker processes, by a script written by hand, and by Crawlee with its default settings and tuned. Each runs in
processes of its own, one after the other, after a warm-up that is not counted; Trawl from the job handed in to its
completion. CPU is of all processes of the one measured, and RSS the sum of their peaks. The county's is not counted.

starvation runs ten small jobs, each of a site of its own: first one by one, then together beside a job of 2,000 items whose
site never answers (--hosts spreads them over so many hosts), or of --dead-dns items whose host names never get an answer.
It exits with 1 if one of them takes more than twice its time alone.`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    items: { type: 'string' },
    workers: { type: 'string', default: '2' },
    concurrency: { type: 'string', default: '512' },
    limit: { type: 'string', default: '3' },
    kills: { type: 'string', default: '10' },
    ms: { type: 'string' },
    only: { type: 'string', default: '' },
    keeps: { type: 'string', default: 'nothing' },
    hanging: { type: 'string', default: '2000' },
    hosts: { type: 'string', default: '1' },
    'dead-dns': { type: 'string' },
    json: { type: 'boolean', default: false },
  },
});

const say = values.json ? () => {} : (line: string) => console.error(line);
if (positionals[0] === 'http') {
  const result = await benchHttp(
    { items: positive('items', values.items ?? '5000'), only: subjects(values.only) },
    say,
  );
  if (values.json) console.log(JSON.stringify(result));
  else printHttp(result);
} else {
  const result = await run(positionals[0]);
  if (values.json) console.log(JSON.stringify(result));
  else printTable(result);
}

async function run(name: string | undefined): Promise<Readonly<Record<string, unknown>>> {
  const workers = positive('workers', values.workers);
  switch (name) {
    case 'engine': {
      const items = positive('items', values.items ?? '100000');
      return benchEngine({ items, workers, concurrency: positive('concurrency', values.concurrency) }, say);
    }
    case 'api': {
      const items = positive('items', values.items ?? '1000000');
      return benchApi({ items, workers, concurrency: positive('concurrency', values.concurrency) }, say);
    }
    case 'create':
      return benchCreate(
        { items: positive('items', values.items ?? '1000000'), kills: positive('kills', values.kills) },
        say,
      );
    case 'extract':
      return benchExtract({ items: positive('items', values.items ?? '10000'), workers }, say);
    case 'aws': {
      const items = positive('items', values.items ?? '100000');
      const slow = values.ms === undefined ? {} : { ms: positive('ms', values.ms) };
      const runs = keptBy(values.keeps).map((keeps) => ({ items, workers, keeps, concurrency: 8 * workers, ...slow }));
      return benchAws(runs, say);
    }
    case 'concurrency': {
      const items = positive('items', values.items ?? '2000');
      return benchConcurrency({
        items,
        workers,
        limit: positive('limit', values.limit),
        ms: positive('ms', values.ms ?? '10'),
      });
    }
    case 'starvation': {
      const result = await benchStarvation(
        {
          workers,
          hanging: positive('hanging', values.hanging),
          hosts: positive('hosts', values.hosts),
          deadDns: values['dead-dns'] === undefined ? 0 : positive('dead-dns', values['dead-dns']),
          jobs: 10,
          items: positive('items', values.items ?? '20'),
          pageMs: positive('ms', values.ms ?? '200'),
        },
        say,
      );
      if (!result.ok) process.exitCode = 1;
      return result;
    }
    default:
      console.error(USAGE);
      return process.exit(2);
  }
}

function keptBy(text: string): readonly ('nothing' | 'three files')[] {
  if (text === 'nothing') return ['nothing'];
  if (text === 'files') return ['three files'];
  if (text === 'both') return ['nothing', 'three files'];
  console.error(`--keeps: there is no ${text}, but nothing, files, both`);
  return process.exit(2);
}

function subjects(text: string): string[] {
  const names = text.split(',').filter((name) => name !== '');
  const unknown = names.find((name) => !HTTP_SUBJECTS.includes(name));
  if (unknown === undefined) return names;
  console.error(`--only: there is no ${unknown}, but ${HTTP_SUBJECTS.join(', ')}`);
  return process.exit(2);
}

function positive(option: string, text: string): number {
  const number = Number(text.replaceAll('_', ''));
  if (Number.isInteger(number) && number > 0) return number;
  console.error(`--${option}: ${text} is not a whole number above 0`);
  return process.exit(2);
}
