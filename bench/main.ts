import { parseArgs } from 'node:util';
import { BROWSER_SUBJECTS } from './browser/subjects.ts';
import { DOCS_SUBJECTS } from './docs/subjects.ts';
import type { Measured } from './http/measure.ts';
import { HTTP_SUBJECTS } from './http/subjects.ts';
import { printTable } from './report.ts';

const USAGE = `usage: npm run bench -- engine [--items N] [--workers N] [--concurrency N] [--json]
       npm run bench -- api [--items N] [--workers N] [--concurrency N] [--json]
       npm run bench -- create [--items N] [--kills N] [--json]
       npm run bench -- discovery [--items N] [--workers N] [--concurrency N] [--json]
       npm run bench -- extract [--items N] [--workers N] [--json]
       npm run bench -- aws [--items N] [--workers N] [--keeps nothing|files|both] [--ms N] [--json]
       npm run bench -- concurrency [--items N] [--workers N] [--limit N] [--ms N] [--json]
       npm run bench -- starvation [--workers N] [--hanging N] [--hosts N] [--dead-dns N] [--items N] [--ms N] [--json]
       npm run bench -- retry-after [--items N] [--workers N] [--limit N] [--ms N] [--json]
       npm run bench -- http [--items N] [--only ${HTTP_SUBJECTS.join(',')}] [--json]
       npm run bench -- markdown [--items N] [--only trawl,turndown,node-html-markdown] [--docs DIR] [--json]
       npm run bench -- docs [--items N] [--only ${DOCS_SUBJECTS.join(',')}] [--json]
       npm run bench -- browser [--items N] [--only ${BROWSER_SUBJECTS.join(',')}] [--json]
       npm run bench -- recordings [--items N] [--json]
       npm run bench -- runs [--items N] [--workers N] [--json]
       npm run bench -- compare COMMIT engine|api|… [options of that benchmark] [--rounds N] [--json]

http fetches pages of the demo county, takes ten fields of each and keeps three files on the disk: by Trawl with one and
with two worker processes, by a script written by hand, and by Crawlee with its default settings and tuned. Each has
processes of its own, which work in turns, after a warm-up that is not counted; Trawl from the job handed in to its
completion. CPU is of all processes of the one measured, and RSS the sum of their peaks. The county's is not counted.

markdown converts the documentation of Python, PostgreSQL, Git and Debian's handbook, all pages or --items of each, beside
turndown and node-html-markdown. The packages are downloaded from Debian and unpacked below ~/.cache/trawl-bench, not
installed; --docs DIR is a folder where they are unpacked already. recall is the share of the words of the page's content
that are in the Markdown, precision the share of the Markdown's words that are content, code_exact the share of code
blocks that are the same to the byte; all of it read by parsers that none of the converters uses.

docs pulls a list of documentation pages of 36 KB over HTTP without a delay, to Markdown in a cache and in files: by Trawl with
one and with two worker processes, and by a loop written by hand with the same converter. It is measured as http is, and exits
with 1 if Trawl with one worker process has less than 0.9 of the pages per second of CPU that the loop has.

browser opens pages that a script of the demo county makes: by Trawl, by a pool of pages written by hand, and by Crawlee with
its default settings. All use the same Chromium and a new context for each item; trawl-page shares contexts between items
(browser.isolation). It is measured as http is; CPU and RSS include the browsers.

recordings runs the demo county by its recording, over HTTP and (three items of twenty) in a browser, beside the scraper that was
written for it. fields_equal counts the items whose data are the same. It exits with 1 if data differ, or if HTTP is not at
least 20 times as cheap.

runs reports items to an ETL API (another service), in batches and by a loop of one PATCH per item, and carries out a run of
--items. It exits with 1 if batches are not at least 10 times as fast.

discovery runs the same items twice: submitted, and found by pages with 25 links each, half of which are on the page before.
It exits with 1 if found items take more than twice as long.

starvation runs ten small jobs, each of a site of its own: first one by one, then together beside a job of 2,000 items whose
site never answers (--hosts spreads them over so many hosts), or of --dead-dns items whose host names never get an answer.
It exits with 1 if one of them takes more than twice its time alone.

retry-after runs a job of two requests per item twice: at a site that answers everything, and at one that answers 1 % of the
requests with a 503 and Retry-After: 1. It exits with 1 if the second takes more than 1.25 times as long.

compare runs a benchmark on this working tree and on another commit in turns, and prints the ratio of each figure with its
lowest and highest over the rounds. Other work on the machine disturbs both sides; cpu_seconds least. It exits with 1 if
the benchmark does not run on both sides.`;

const { values, positionals, tokens } = parseArgs({
  allowPositionals: true,
  tokens: true,
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
    docs: { type: 'string' },
    rounds: { type: 'string', default: '4' },
    json: { type: 'boolean', default: false },
  },
});

// Each benchmark is loaded by itself: the emulators of `aws` alone would add 60 MB to the memory that `engine` reports.
const say = values.json ? () => {} : (line: string) => console.error(line);
if (positionals[0] === 'http') {
  const { benchHttp } = await import('./http.ts');
  const only = subjects(values.only, HTTP_SUBJECTS);
  await show(await benchHttp({ items: positive('items', values.items ?? '5000'), only }, say));
} else if (positionals[0] === 'docs') {
  const { benchDocs } = await import('./docs.ts');
  const only = subjects(values.only, DOCS_SUBJECTS);
  const result = await benchDocs({ items: positive('items', values.items ?? '24000'), only }, say);
  await show(result);
  if (!result.ok) process.exitCode = 1;
} else if (positionals[0] === 'browser') {
  const { benchBrowser } = await import('./browser.ts');
  const only = subjects(values.only, BROWSER_SUBJECTS);
  await show(await benchBrowser({ items: positive('items', values.items ?? '300'), only }, say));
} else if (positionals[0] === 'recordings') {
  const { benchRecordings } = await import('./recordings.ts');
  const items = positive('items', values.items ?? '2000');
  const result = await benchRecordings({ items, browserItems: Math.ceil(items * 0.15) }, say);
  if (!result.ok) process.exitCode = 1;
  await show(result);
} else if (positionals[0] === 'markdown') {
  const { benchMarkdown, CONVERTERS, printMarkdown } = await import('./markdown.ts');
  const items = values.items === undefined ? null : positive('items', values.items);
  const only = subjects(values.only, CONVERTERS);
  const result = await benchMarkdown({ docs: values.docs ?? null, items, only }, say);
  if (values.json) console.log(JSON.stringify(result));
  else printMarkdown(result);
} else if (positionals[0] === 'compare') {
  await compare(positionals[1], positionals[2]);
} else {
  const result = await run(positionals[0]);
  if (values.json) console.log(JSON.stringify(result));
  else printTable(result);
}

async function show(result: { readonly rows: readonly Measured[] }): Promise<void> {
  const { printRows } = await import('./http/print-rows.ts');
  if (values.json) console.log(JSON.stringify(result));
  else printRows(result);
}

async function run(name: string | undefined): Promise<Readonly<Record<string, unknown>>> {
  const workers = positive('workers', values.workers);
  switch (name) {
    case 'engine': {
      const items = positive('items', values.items ?? '100000');
      const { benchEngine } = await import('./engine.ts');
      return benchEngine({ items, workers, concurrency: positive('concurrency', values.concurrency) }, say);
    }
    case 'api': {
      const items = positive('items', values.items ?? '1000000');
      const { benchApi } = await import('./api.ts');
      return benchApi({ items, workers, concurrency: positive('concurrency', values.concurrency) }, say);
    }
    case 'create': {
      const { benchCreate } = await import('./create.ts');
      return benchCreate(
        { items: positive('items', values.items ?? '1000000'), kills: positive('kills', values.kills) },
        say,
      );
    }
    case 'runs': {
      const { benchRuns } = await import('./runs.ts');
      const result = await benchRuns({ items: positive('items', values.items ?? '100000'), workers }, say);
      if (!result.ok) process.exitCode = 1;
      return result;
    }
    case 'discovery': {
      const items = positive('items', values.items ?? '100000');
      const { benchDiscovery } = await import('./discovery.ts');
      const result = await benchDiscovery(
        { items, workers, concurrency: positive('concurrency', values.concurrency) },
        say,
      );
      if (!result.ok) process.exitCode = 1;
      return result;
    }
    case 'extract': {
      const { benchExtract } = await import('./extract.ts');
      return benchExtract({ items: positive('items', values.items ?? '10000'), workers }, say);
    }
    case 'aws': {
      const items = positive('items', values.items ?? '100000');
      const slow = values.ms === undefined ? {} : { ms: positive('ms', values.ms) };
      const runs = keptBy(values.keeps).map((keeps) => ({ items, workers, keeps, concurrency: 8 * workers, ...slow }));
      const { benchAws } = await import('./aws.ts');
      return benchAws(runs, say);
    }
    case 'concurrency': {
      const items = positive('items', values.items ?? '2000');
      const { benchConcurrency } = await import('./concurrency.ts');
      return benchConcurrency({
        items,
        workers,
        limit: positive('limit', values.limit),
        ms: positive('ms', values.ms ?? '10'),
      });
    }
    case 'starvation': {
      const { benchStarvation } = await import('./starvation.ts');
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
    case 'retry-after': {
      const { benchRetryAfter } = await import('./retry-after.ts');
      const limit = positive('limit', values.limit);
      const size = { items: positive('items', values.items ?? '400'), workers, limit };
      const result = await benchRetryAfter({ ...size, pageMs: positive('ms', values.ms ?? '75') }, say);
      if (!result.ok) process.exitCode = 1;
      return result;
    }
    default:
      console.error(USAGE);
      return process.exit(2);
  }
}

async function compare(commit: string | undefined, name: string | undefined): Promise<void> {
  if (commit === undefined || name === undefined) {
    console.error(USAGE);
    return process.exit(2);
  }
  const { benchCompare, printComparison } = await import('./compare.ts');
  const rounds = positive('rounds', values.rounds);
  const options = tokens.flatMap((token) =>
    token.kind !== 'option' || token.name === 'rounds' || token.name === 'json'
      ? []
      : [`--${token.name}`, ...(token.value === undefined ? [] : [token.value])],
  );
  const stopped = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stopped.abort(signal));
  try {
    const result = await benchCompare({ commit, args: [name, ...options], rounds, stop: stopped.signal }, say);
    if (values.json) console.log(JSON.stringify(result));
    else printComparison(result);
    if (result.here.failed !== undefined || result.other.failed !== undefined) process.exitCode = 1;
  } catch (error) {
    if (!stopped.signal.aborted) throw error;
    console.error('stopped; the checkouts are removed');
    process.exitCode = 130;
  }
}

function keptBy(text: string): readonly ('nothing' | 'three files')[] {
  if (text === 'nothing') return ['nothing'];
  if (text === 'files') return ['three files'];
  if (text === 'both') return ['nothing', 'three files'];
  console.error(`--keeps: there is no ${text}, but nothing, files, both`);
  return process.exit(2);
}

function subjects(text: string, known: readonly string[]): string[] {
  const names = text.split(',').filter((name) => name !== '');
  const unknown = names.find((name) => !known.includes(name));
  if (unknown === undefined) return names;
  console.error(`--only: there is no ${unknown}, but ${known.join(', ')}`);
  return process.exit(2);
}

function positive(option: string, text: string): number {
  const number = Number(text.replaceAll('_', ''));
  if (Number.isInteger(number) && number > 0) return number;
  console.error(`--${option}: ${text} is not a whole number above 0`);
  return process.exit(2);
}
