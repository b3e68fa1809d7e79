import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { EXIT } from '../../src/cli/exit-codes.ts';
import { planText, withoutPlanning } from '../../src/cli/jobs/plan-text.ts';
import { startService } from '../api/service.ts';
import { untilTrue } from '../support/until.ts';
import { command, tempFolder, trawl, writeLines } from './trawl.ts';

const NO_PROBLEMS = {
  ...{ items: 2000, received: 2000, bad: 0, duplicates: 0, conflicts: 0 },
  ...{ bad_lines: [], conflicting: [], ignored_columns: [], incomplete: false, compared_ids: 2000 },
};
const GOOD_SAMPLE = { items: 20, finished: 20, success: 19, failed: 1, skipped: 0, stopped: null };
const VIEW = { name: 'parcels.csv', start: 'trawl run demo --items parcels.csv', kept: null };

test('a plan shows what is wrong with the list, how the sample went, and what to expect', () => {
  const {
    bad_lines: _,
    conflicting: _c,
    ignored_columns: _i,
    incomplete: _n,
    compared_ids: _d,
    ...counts
  } = NO_PROBLEMS;
  const text = planText(
    {
      warnings: [],
      inputs: {
        ...NO_PROBLEMS,
        ...{ bad: 25, duplicates: 3, conflicts: 1, ignored_columns: ['note'] },
        bad_lines: [{ line: 1204, code: 'invalid_input', problem: 'apn: is required' }],
        conflicting: [{ item_id: 'p-9', line: 12, first_line: 3 }],
      },
      plan: {
        ...{ plan_id: 'plan-1', status: 'ready', scraper_id: 'demo', inputs: counts, expires_at: null },
        sample: GOOD_SAMPLE,
        failures: [
          {
            ...{ type: 'server_error', pattern: 'HTTP #', page: null, count: 1, retryable: true },
            ...{ id: 'g-1', url_pattern: null, first_at: null, last_at: null },
            examples: [{ item_id: 'p-7', message: 'HTTP 500', page: null }],
          },
        ],
        forecast: {
          duration_seconds: { expected: 750, low: 600, high: 960 },
          items_per_second: { expected: 2.67, low: 2.08, high: 3.33 },
          failure_rate: { expected: 0.05, low: 0.0131, high: 0.173 },
          requests: { expected: 10_000, low: 9000, high: 11_200 },
          bytes: { expected: 2e8, low: 1.8e8, high: 2.3e8 },
          cost: { expected: 1.6, low: 1.44, high: 1.84 },
        },
      },
    },
    VIEW,
  );
  assert.equal(
    text,
    `parcels.csv: 2,000 items
  Ignored 1 column that the scraper does not know: note
  2 duplicates, which a job leaves out
  1 line with the id of an earlier line and a different input; a job keeps the first:
    line 12: p-9, first in line 3
  25 lines that cannot be used, and would not be part of the job:
    line 1,204: apn: is required
    and 24 more

Sample: 20 items: 19 ok, 1 failed

Failures:
        1  server_error: HTTP 500, for example item p-7

Expected for 2,000 items, if the site behaves as it did during the sample:
               expected       9 of 10 jobs
  duration  12 min 30 s    10 min – 16 min
  rate            2.7/s      2.1/s – 3.3/s
  requests       10,000     9,000 – 11,200
  traffic       191 MiB  172 MiB – 219 MiB
  cost              1.6        1.44 – 1.84
  failures          5 %       1.3 % – 17 %

The job runs the items of the sample again. To start it:
  trawl run demo --items parcels.csv
`,
  );
});

test('a plan says that a list has no usable item, or how to start one that was only checked', () => {
  const nothing = planText({ warnings: [], inputs: { ...NO_PROBLEMS, items: 0 }, plan: null }, VIEW);
  assert.match(nothing, /No item can be used: correct the list\.\n$/);
  const onlyChecked = planText({ warnings: [], inputs: NO_PROBLEMS, plan: null }, VIEW);
  assert.match(onlyChecked, /^parcels\.csv: 2,000 items\n\nTo start it:\n {2}trawl run/);
});

test('the command that starts the job is the one that was typed, without the options for planning', () => {
  const typed = ['run', 'demo', '--plan', '--sample', '5', '--items', 'a.csv', '--keep', '--sample=7', '--json'];
  assert.deepEqual(withoutPlanning(typed), ['run', 'demo', '--items', 'a.csv']);
});

test('trawl run --plan checks the list, runs a sample and leaves nothing behind', async () => {
  const folder = tempFolder();
  const items = Array.from({ length: 300 }, (_, at) => ({ item_id: `p-${at}`, input: { ms: 5, bytes: 40 } }));
  const conflict = { item_id: 'p-3', input: { ms: 6, bytes: 40 } };
  const list = writeLines(folder, 'list.jsonl', [...items, conflict, { item_id: 'p-4', input: { ms: 'x' } }]);
  const env = { TRAWL_DATA_DIR: join(folder, 'data') };
  const asked = ['run', 'example-slow', '--items', list, '--plan', '--sample', '10'];

  const shown = await trawl(asked, env);
  assert.equal(shown.code, EXIT.someItemsFailed, shown.stderr);
  assert.match(shown.stdout, /list\.jsonl: 300 items\n/);
  assert.match(shown.stdout, /line 301: p-3, first in line 4\n/);
  assert.match(shown.stdout, /line 302: ms: /);
  assert.match(shown.stdout, /Sample: 10 items: 10 ok, 0 failed\n/);
  assert.match(shown.stdout, /\n {2}duration +\S/);
  assert.match(shown.stdout, /To start it:\n {2}trawl run example-slow --items \S+list\.jsonl\n$/);
  assert.deepEqual(readdirSync(join(folder, 'data', 'run')), []);

  const good = writeLines(folder, 'good.jsonl', items);
  const asJson = await command(['run', 'example-slow', '--items', good, '--plan', '--json', '--keep'], env);
  assert.equal(asJson.code, EXIT.done, asJson.stderr);
  const { plan, inputs, start } = JSON.parse(asJson.stdout);
  assert.deepEqual([inputs.items, plan.status, plan.sample.success, plan.expires_at], [300, 'ready', 20, null]);
  assert.ok(plan.forecast.duration_seconds.low <= plan.forecast.duration_seconds.high);
  assert.match(start, /^trawl run example-slow --items \S+$/);
  assert.ok(existsSync(join(folder, 'data', 'run', 'example-slow.samples', 'results', plan.plan_id, 'items')));
});

test('a plan is requested alone, and only for a list', async () => {
  const folder = tempFolder();
  const list = writeLines(folder, 'list.csv', ['ms', '1']);
  const run = (...words: readonly string[]) => command(['run', 'example-slow', ...words], { TRAWL_DATA_DIR: folder });
  for (const [words, said] of [
    [['--items', list, '--plan', '--again'], /--again and --plan: give one of them/],
    [['--items', list, '--sample', '5'], /--sample is only for --plan/],
    [['--items', list, '--keep'], /--keep is only for --plan/],
    [['--plan'], /--plan needs the list/],
    [['--items', list, '--plan', '--sample', '201'], /from 0 to 200/],
  ] as const) {
    const { code, stderr } = await run(...words);
    assert.deepEqual([code, said.test(stderr)], [EXIT.badUsage, true], stderr);
  }
});

test('trawl jobs plan does the same on a server, where the plan is deleted once it is read', async () => {
  const service = await startService();
  const folder = tempFolder();
  const list = writeLines(folder, 'parcels.csv', ['apn', ...Array.from({ length: 50 }, (_, at) => `200-${at}`)]);
  const plan = (...words: readonly string[]) =>
    command(['jobs', 'plan', 'example-mock', '--items', list, ...words], { TRAWL_URL: service.url });

  const shown = await plan('--sample', '5');
  assert.equal(shown.code, EXIT.done, shown.stderr);
  assert.match(shown.stdout, /Sample: 5 items: 5 ok, 0 failed\n/);
  assert.match(shown.stdout, /To start it:\n {2}trawl jobs create example-mock --items \S+ --watch\n$/);
  await untilTrue(async () => {
    const { json } = await service.ask('GET', '/jobs');
    return (json as { jobs: unknown[] }).jobs.length === 0;
  });

  const checked = await plan('--sample', '0', '--json');
  assert.deepEqual([checked.code, JSON.parse(checked.stdout).plan], [EXIT.done, null]);
  const useless = writeLines(folder, 'useless.csv', ['apn', '1,2']);
  const nothing = await command(['jobs', 'plan', 'example-mock', '--items', useless], { TRAWL_URL: service.url });
  assert.equal(nothing.code, EXIT.failed);
  assert.match(nothing.stdout, /No item can be used/);
});

test('a sample in which everything fails ends with 3, and shows the failures', async () => {
  const { url } = await startService();
  const folder = tempFolder();
  const list = writeLines(
    folder,
    'list.jsonl',
    Array.from({ length: 30 }, (_, at) => ({ item_id: `i-${at}`, input: {} })),
  );
  const policy = writeLines(folder, 'policy.json', [
    { retries: { max_retries: 0 }, circuit_breaker: { min_requests: 3, failure_threshold_percentage: 1 } },
  ]);
  const words = ['jobs', 'plan', 'example-fail', '--items', list, '--policy', policy];
  const { code, stdout } = await command(words, { TRAWL_URL: url });
  assert.equal(code, EXIT.failed);
  assert.match(stdout, /It was stopped: /);
  assert.match(stdout, /Failures:\n +\d+ {2}\w+: item i-\d+ was asked to fail/);
});
