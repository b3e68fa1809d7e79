import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { EXIT } from '../../src/cli/exit-codes.ts';
import type { FailuresAnswer } from '../../src/contract/failure-answers.ts';
import type { ItemDetailAnswer, ItemPageAnswer } from '../../src/contract/item-answers.ts';
import { ask, startService } from '../api/service.ts';
import { CAUSES, causeOf, parcelOf, scraperSource, startFailingCounty } from '../models/failing-county.ts';
import { folderWith } from '../scraping/scraper-folder.ts';
import { sized } from '../support/sized.ts';
import { command, tempFolder, writeLines } from './trawl.ts';

const ITEMS = sized({ quick: 150, slow: 40_002 });
const PROCESSES = 2;
const KEPT = 3;

async function openStage(t: TestContext, workers = 1) {
  const county = await startFailingCounty();
  t.after(() => county.close());
  const scrapers = folderWith(t, { 'failing-county.ts': scraperSource('#owner') });
  const routes = `http://failing-county.test=${county.url}`;
  const config = { scrapers: [scrapers], allowAddresses: 'loopback', routes, workers };
  const open = async (dataDir?: string) => {
    const service = await startService({ ...config, ...(dataDir === undefined ? {} : { dataDir }) });
    const env = { TRAWL_URL: service.url, TRAWL_SCRAPERS: scrapers };
    return { service, run: (...words: string[]) => command(words, env, scrapers) };
  };
  const first = await open();
  const restart = async () => {
    await first.service.stop();
    return await open(first.service.dataDir);
  };
  return { county, scrapers, restart, ...first };
}

type Stage = Awaited<ReturnType<typeof openStage>>;

async function runJob({ run }: Stage, items: number): Promise<void> {
  const folder = tempFolder();
  const list = writeLines(
    folder,
    'items.jsonl',
    Array.from({ length: items }, (_, number) => ({ item_id: parcelOf(number), input: { apn: parcelOf(number) } })),
  );
  const policy = writeLines(folder, 'policy.json', [
    {
      throttling: { max_concurrent_workers: 16, adaptive: false },
      retries: { max_retries: 0 },
      circuit_breaker: { min_requests: 1_000_000, consecutive_failures: 1_000_000 },
      results: { keep_html: false, keep_failures: KEPT },
    },
  ]);
  const words = ['--items', list, '--policy', policy, '--job-id', 'parcels', '--watch'];
  const created = await run('jobs', 'create', 'failing-county', ...words);
  assert.equal(created.code, EXIT.someItemsFailed, created.stderr);
}

async function groupsOf({ run }: Stage): Promise<FailuresAnswer['groups']> {
  const { stdout } = await run('jobs', 'failures', 'parcels', '--json');
  return (JSON.parse(stdout) as FailuresAnswer).groups;
}

function causeOfItem(itemId: string) {
  return causeOf(Number(itemId.split('-').at(-1)));
}

test(`${ITEMS} failures with ${CAUSES.length} causes are ${CAUSES.length} groups; their pages are kept, open, and become fixtures`, async (t) => {
  const stage = await openStage(t, PROCESSES);
  const { run, service, scrapers, county } = stage;
  await runJob(stage, ITEMS);

  const groups = await groupsOf(stage);
  assert.ok(Math.abs(groups.length - CAUSES.length) <= 1, JSON.stringify(groups, null, 1));
  assert.equal(
    groups.reduce((sum, { count }) => sum + count, 0),
    ITEMS,
  );
  const causes = groups.map(({ examples }) => new Set(examples.map(({ item_id }) => causeOfItem(item_id))));
  assert.ok(
    causes.every(({ size }) => size === 1),
    'no group mixes causes',
  );
  assert.deepEqual(new Set(causes.flatMap((each) => [...each])), new Set(CAUSES));
  for (const { examples, first_at, last_at, url_pattern } of groups) {
    assert.equal(examples.length, KEPT);
    assert.ok(examples.every(({ page }) => page !== null));
    assert.ok(first_at !== null && last_at !== null && first_at <= last_at);
    assert.match(url_pattern ?? '', /^failing-county\.test\/(?:parcel\/#|login\?back)$/);
  }

  // The number depends on the groups and processes, not on how many failed.
  const kept = readdirSync(service.dataDir, { recursive: true, encoding: 'utf8' });
  for (const name of ['failed_page.html', 'visit.json']) {
    const files = kept.filter((path) => path.includes(name)).length;
    assert.ok(files >= KEPT * CAUSES.length && files <= KEPT * groups.length * PROCESSES, `${files} files ${name}`);
  }

  // The pages can be opened all at once and one by one.
  const folder = join(tempFolder(), 'pages');
  const saved = await run('jobs', 'failures', 'parcels', '--save', folder);
  assert.match(saved.stderr, new RegExp(`: ${KEPT * groups.length} pages downloaded`));
  for (const { id, examples } of groups) {
    for (const { item_id, page } of examples) {
      const text = readFileSync(join(folder, `${id}-${item_id}.html`), 'utf8');
      assert.match(text, PAGE_OF[causeOfItem(item_id)]);
      assert.equal((await ask(service.url + page, 'GET', {})).text, text);
      const one = await run('jobs', 'download', 'parcels', item_id, '--artifact', 'html');
      assert.equal(one.stdout, text);
    }
  }

  // One command turns any of them into a case, without a request.
  const before = county.requests();
  for (const { type, examples } of groups) {
    const [example] = examples;
    assert.ok(example);
    const made = await run('scrapers', 'test', 'failing-county', '--from', 'parcels', example.item_id);
    assert.deepEqual([made.stderr, made.code], ['', EXIT.done]);
    assert.match(made.stdout, /^recorded \S+ of parcels with [23] exchanges in failing-county\.fixture\n/);
    assert.match(made.stdout, new RegExp(`fails as ${type}\\. If it must fail like this`));
  }
  const tested = await run('scrapers', 'test', 'failing-county');
  assert.equal(tested.code, EXIT.done, tested.stdout);
  assert.match(tested.stdout, new RegExp(`${groups.length} passed, 0 failed`));
  const fixture = readdirSync(join(scrapers, 'failing-county.fixture'))
    .map((file) => readFileSync(join(scrapers, 'failing-county.fixture', file), 'utf8'))
    .join('\n');
  assert.doesNotMatch(fixture, /secret-of-the-session|cookie-of-the-session/);
  assert.equal(county.requests(), before);
});

const PAGE_OF = {
  redesign: /Owner of record/,
  login: /<form id="login"/,
  gone: /<h2>gone/,
  broken: /<h2>broken/,
  forbidden: /<h2>forbidden/,
  'nothing found': /No records found/,
} as const;

test('a case of a failure expects the data once the scraper is repaired, and the group is retried by its id', async (t) => {
  const stage = await openStage(t);
  const { scrapers } = stage;
  let { run, service } = stage;
  await runJob(stage, 24);
  const groups = await groupsOf(stage);
  const redesign = groups.find(({ examples }) => examples.some(({ item_id }) => causeOfItem(item_id) === 'redesign'));
  const item = redesign?.examples.find(({ item_id }) => causeOfItem(item_id) === 'redesign')?.item_id ?? '';
  assert.equal(redesign?.count, 4);

  const from = ['scrapers', 'test', 'failing-county', '--from', 'parcels', item];
  assert.match((await run(...from)).stdout, /it expects .*"failure": "structure_changed"/);
  writeFileSync(join(scrapers, 'failing-county.ts'), scraperSource('#owner-of-record'));
  const stale = await run('scrapers', 'test', 'failing-county');
  assert.equal(stale.code, EXIT.someItemsFailed, 'the repaired scraper no longer fails as the case expects');
  const refused = await run(...from, '--expect-failure');
  assert.match(refused.stderr, /nothing was recorded: the scraper did not fail\nLeave --expect-failure out/);
  const again = JSON.parse((await run(...from, '--json')).stdout);
  assert.match(again.expect.data.owner, /^OWNER \d+$/);
  assert.equal((await run('scrapers', 'test', 'failing-county')).code, EXIT.done);

  ({ run, service } = await stage.restart());
  const preview = await run('jobs', 'retry', 'parcels', '--group', redesign?.id ?? '', '--preview');
  assert.match(preview.stdout, /^4 items would be reopened/);
  assert.match((await run('jobs', 'retry', 'parcels', '--group', redesign?.id ?? '')).stdout, /^4 items reopened/);
  assert.equal((await run('jobs', 'watch', 'parcels')).code, EXIT.someItemsFailed);
  const { summary } = JSON.parse((await run('jobs', 'status', 'parcels', '--json')).stdout);
  assert.deepEqual([summary.success, summary.failed], [4, 20]);
  const detail = await ask(`${service.url}/jobs/parcels/items/${item}`, 'GET', {});
  assert.equal((detail.json as ItemDetailAnswer).attempts, 2);
  const gone = await run('jobs', 'retry', 'parcels', '--group', redesign?.id ?? '');
  assert.deepEqual([gone.code, gone.stdout], [EXIT.someItemsFailed, 'No items reopened: no failed item matches.\n']);
});

test('what cannot become a case is reported with the reason, and what to do instead', async (t) => {
  const stage = await openStage(t);
  const { run, scrapers } = stage;
  await runJob(stage, 48);
  const groups = await groupsOf(stage);
  const shown = new Set(groups.flatMap(({ examples }) => examples.map(({ item_id }) => item_id)));
  const listed = await ask(`${stage.service.url}/jobs/parcels/items?limit=100`, 'GET', {});
  const unkept = (listed.json as ItemPageAnswer).items.find(({ artifacts }) => artifacts.length === 1)?.item_id ?? '';
  const from = (item: string, scraper = 'failing-county') =>
    run('scrapers', 'test', scraper, '--from', 'parcels', item);
  const [first] = shown;
  assert.match((await from('nobody')).stderr, /has no item nobody/);
  assert.match((await from(first ?? '', 'example-noop')).stderr, /scraped by failing-county, not by example-noop/);
  const without = await from(unkept);
  assert.match(without.stderr, /parcels kept no page of \S+: pages of the first failures/);
  for (const words of [
    ['--from', 'parcels'],
    ['--from', 'parcels', 'a', 'b'],
    ['--from', 'p', 'i', '--record'],
  ]) {
    assert.equal((await run('scrapers', 'test', 'failing-county', ...words)).code, EXIT.badUsage);
  }
  // It now requests a page that it did not request then.
  const source = scraperSource('#owner').replace("/parcel/' +", "/parcels/' +");
  writeFileSync(join(scrapers, 'failing-county.ts'), source);
  const changed = await from(first ?? '');
  assert.equal(changed.code, EXIT.someItemsFailed);
  assert.match(
    changed.stderr,
    /the scraper asks for GET http:\/\/failing-county\.test\/parcels\/\S+, and the job kept no answer/,
  );
  assert.match(changed.stderr, /\$ trawl scrapers test failing-county --record --input apn=\S+\n/);
  assert.deepEqual(readdirSync(scrapers), ['failing-county.ts']);
});
