import assert from 'node:assert/strict';
import { existsSync, lstatSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import { command, type Ended, startTrawl, tempFolder, trawl, writeLines } from './trawl.ts';

interface Row {
  readonly item_id: string;
  readonly status: string;
  readonly input: unknown;
  readonly error: { readonly type: string; readonly message: string } | null;
  readonly data: unknown;
}

function rowsOf(out: string): Row[] {
  const text = readFileSync(join(out, 'results.jsonl'), 'utf8');
  return text
    .trimEnd()
    .split('\n')
    .map((line): Row => JSON.parse(line));
}

function slowItems(count: number, ms: number) {
  return Array.from({ length: count }, (_, at) => ({
    item_id: `p-${at}`,
    input: { ms, bytes: at % 10 === 0 ? 40 : 0 },
  }));
}

function endsWith(code: number, ended: Pick<Ended, 'code' | 'stdout' | 'stderr'>): void {
  assert.equal(ended.code, code, `${ended.stdout}\n${ended.stderr}`);
}

/** A policy file in a folder. */
function writePolicy(folder: string, policy: object): string {
  return writeLines(folder, 'policy.json', [policy]);
}

/** There are enough of them to be in the middle when the first have ended. */
const KILLED = 240;

test('a run that was killed in the middle is finished by the same command, every item exactly once', async () => {
  const folder = tempFolder();
  const out = join(folder, 'out');
  const items = writeLines(folder, 'items.jsonl', slowItems(KILLED, 100));
  const words = ['run', 'example-slow', '--items', items, '--out', out, '--concurrency', '32', '--json'];

  const first = startTrawl(words);
  await first.shows(/^[1-9]\d*\/240 /m);
  // No other user may access the service, and the socket that a killed service leaves does not block the next one.
  assert.equal(lstatSync(join(out, 'api.sock')).mode & 0o777, 0o600);
  first.signalGroup('SIGKILL');
  assert.equal((await first.ended).signal, 'SIGKILL');
  assert.ok(lstatSync(join(out, 'api.sock')).isSocket());
  assert.equal(existsSync(join(out, 'results.jsonl')), false);

  const second = await command(words);
  endsWith(0, second);
  assert.equal(existsSync(join(out, 'api.sock')), false);
  const answer = JSON.parse(second.stdout);
  assert.equal(answer.status, 'completed');
  assert.deepEqual([answer.summary.success, answer.summary.total], [KILLED, KILLED]);
  assert.ok(answer.run.finished < KILLED, 'nothing of the first run was kept');
  assert.deepEqual(
    rowsOf(out).map((row) => [row.item_id, row.status]),
    slowItems(KILLED, 100).map(({ item_id }) => [item_id, 'success']),
  );
  const verified = await command(['verify', 'items', '--data-dir', out, '--json']);
  endsWith(0, verified);
  // The page of every tenth, and the metadata of each.
  assert.deepEqual(JSON.parse(verified.stdout).checked.artifacts, KILLED + KILLED / 10);

  const again = await command(words);
  endsWith(0, again);
  assert.equal(JSON.parse(again.stdout).items.duplicates, KILLED);
  assert.equal(JSON.parse(again.stdout).run.finished, 0);
});

test('a run that was killed while it read its items reads the rest the next time', async () => {
  const folder = tempFolder();
  const out = join(folder, 'out');
  const items = writeLines(folder, 'items.jsonl', slowItems(1200, 0));
  const words = ['run', 'example-slow', '--items', items, '--out', out, '--concurrency', '64'];
  const killed = await trawl(words, { TRAWL_FAULTS: 'between-import-chunks:1' });
  assert.notEqual(killed.code, 0);
  const withoutItems = await command(['run', 'example-slow', '--out', out]);
  endsWith(2, withoutItems);
  assert.match(withoutItems.stderr, /items of job items were not all read: give --items again/);
  endsWith(0, await command(words));
  assert.deepEqual(
    rowsOf(out).map((row) => row.item_id),
    slowItems(1200, 0).map(({ item_id }) => item_id),
  );
});

test('failed items, lines that cannot be read and lines that repeat an item are reported, and failed ones retried', async () => {
  const folder = tempFolder();
  const out = join(folder, 'out');
  const lines = [
    'item_id,type',
    'p-1,not_found',
    'p-2,no_results',
    'c',
    'p-2,no_results',
    'p-3,not_found',
    'p-4,blocked',
  ];
  const items = writeLines(folder, 'items.csv', lines);
  const words = ['run', 'example-fail', '--items', items, '--limit', '4', '--out', out];

  const told = await command(words);
  endsWith(1, told);
  assert.match(told.stdout, /^Job items completed in .*\/s\)\n {2}3 of 3 \(100 %\): 0 ok, 3 failed\n/);
  assert.match(told.stdout, /2 {2}not_found: item p-1 was asked to fail, for example item p-1/);
  assert.match(told.stderr, /^3 items added, 1 duplicate left unchanged\.$/m);
  assert.match(told.stderr, /1 line could not be read.*\n {2}line 4: it has 1 fields, and the header 2/);
  // Neither outcome would be different the next time.
  assert.match(
    told.stdout,
    /A retry by itself does not help these:\n {2}not_found, no_results: the site has no such item/,
  );
  assert.doesNotMatch(told.stdout, /--failed/);
  assert.deepEqual(
    rowsOf(out).map(({ item_id, status, input, error }) => [item_id, status, input, error?.type]),
    [
      ['p-1', 'failed', { type: 'not_found' }, 'not_found'],
      ['p-2', 'failed', { type: 'no_results' }, 'no_results'],
      ['p-3', 'failed', { type: 'not_found' }, 'not_found'],
    ],
  );

  const again = await command(['run', 'example-fail', '--out', out, '--retry-failed', '--json']);
  endsWith(1, again);
  const answer = JSON.parse(again.stdout);
  assert.deepEqual([answer.run.finished, answer.summary.failed, answer.run.exit_code], [3, 3, 1]);
  assert.deepEqual(
    answer.errors.map(({ type, count }: { type: string; count: number }) => [type, count]),
    [
      ['not_found', 2],
      ['no_results', 1],
    ],
  );
  endsWith(0, await command(['verify', 'items', '--data-dir', out]));
});

test('a breaker that trips ends the run with its reason, and the same command continues it', async () => {
  const folder = tempFolder();
  const out = join(folder, 'out');
  const items = writeLines(
    folder,
    'items.jsonl',
    Array.from({ length: 12 }, (_, at) => ({ item_id: `p-${at}`, input: {} })),
  );
  const policy = writePolicy(folder, { retries: { max_retries: 0 }, circuit_breaker: { min_requests: 5 } });
  const words = ['run', 'example-fail', '--items', items, '--out', out, '--policy', policy];
  const tripped = await command(words);
  endsWith(3, tripped);
  assert.match(tripped.stdout, /^Job items failed in .*: 5 of 5 failed \(100 %, limit 25 %\)\n/);
  assert.match(tripped.stdout, /^ {2}5 of 12 \(41 %\): 0 ok, 5 failed, 7 pending$/m);
  assert.match(tripped.stdout, /5 {2}server_error: item #? ?.*was asked to fail/);
  assert.match(tripped.stdout, /Continue once the cause is fixed:\n {2}trawl run example-fail --items /);
  assert.deepEqual(
    rowsOf(out)
      .map(({ status }) => status)
      .sort(),
    [...Array(5).fill('failed'), ...Array(7).fill('pending')],
  );
  const unbreakable = writePolicy(folder, { retries: { max_retries: 0 }, circuit_breaker: { min_requests: 1000 } });
  const resumed = await command([...words.slice(0, -1), unbreakable, '--json']);
  endsWith(1, resumed);
  const { summary, run } = JSON.parse(resumed.stdout);
  assert.deepEqual([summary.failed, summary.total, run.finished], [12, 12, 7]);
});

test('Ctrl-C gives back what is in progress, and no other process can use the folder meanwhile', async () => {
  const folder = tempFolder();
  const out = join(folder, 'out');
  const items = writeLines(folder, 'items.jsonl', [...slowItems(40, 1), { item_id: 'long', input: { ms: 600_000 } }]);
  const words = ['run', 'example-slow', '--items', items, '--out', out, '--concurrency', '4'];
  const running = startTrawl(words, { TRAWL_DRAIN_GRACE_MS: '100' });
  await running.shows(/^40\/41 /m);
  const other = await command(words);
  endsWith(3, other);
  assert.match(other.stderr, /in use by process \d+/);
  running.signalGroup('SIGINT');
  const ended = await running.ended;
  endsWith(130, ended);
  assert.match(ended.stdout, /^Interrupted, and nothing is lost: 40 items in .*, 1 item to go\./);
  assert.match(ended.stdout, /Continue:\n {2}trawl run example-slow --items .* --concurrency 4\n/);
});

test('an invalid command is bad usage, and creates no folder', async () => {
  const folder = tempFolder();
  const out = join(folder, 'out');
  const bad = writePolicy(folder, { throttling: { max_concurrent_worker: 5 }, robots: 'ask' });
  const empty = writeLines(folder, 'empty.csv', []);
  const cases: [readonly string[], RegExp][] = [
    [['no-such-scraper', '--input', 'a=1'], /there is no scraper no-such-scraper; trawl scrapers list shows all/],
    [['example-slwo', '--input', 'a=1'], /there is no scraper example-slwo; did you mean example-slow/],
    [['example-slow', '--items', join(folder, 'none.csv')], /--items: no such file/],
    [['example-slow', '--input', 'a=1', '--policy', bad], /throttling: .*max_concurrent_worker.*\n {2}robots: /s],
    [['example-slow', '--input', 'apn'], /--input apn: write it as name=value/],
    [['example-slow', '--input', 'a=1', '--concurrency', '99999'], /throttling.max_concurrent_workers/],
  ];
  await Promise.all(
    cases.map(async ([args, message]) => {
      const ended = await command(['run', ...args, '--out', out]);
      endsWith(2, ended);
      assert.match(ended.stderr, message);
    }),
  );
  assert.equal(existsSync(out), false);
  const nothing = await command(['run', 'example-slow', '--items', empty, '--out', out]);
  endsWith(2, nothing);
  assert.match(nothing.stderr, /empty.csv has no items/);
});

test('a try with one input or with a few items does not get in the way of the whole list', async () => {
  const folder = tempFolder();
  const env = { TRAWL_DATA_DIR: folder };
  const list = writeLines(folder, 'items.jsonl', [{ ms: 1 }, { ms: 2 }, { ms: 3 }]);
  for (const options of [
    ['--input', 'ms:=1'],
    ['--items', list, '--limit', '2'],
    ['--items', list],
  ]) {
    const { code, stdout, stderr } = await command(['run', 'example-slow', ...options], env);
    assert.equal(code, 0, `${options}: ${stdout}${stderr}`);
  }
  assert.match(readFileSync(join(folder, 'run', 'example-slow', 'results.jsonl'), 'utf8'), /^(?:.*\n){3}$/);
});

test('a list that has grown since the job was done: only what is new is run', async () => {
  const folder = tempFolder();
  const out = join(folder, 'out');
  const run = (items: readonly object[]) =>
    command(['run', 'example-slow', '--items', writeLines(folder, 'items.jsonl', items), '--out', out, '--json']);
  assert.equal((await run([{ ms: 1 }])).code, 0);
  const grown = await run([{ ms: 1 }, { ms: 2 }, { ms: 3 }]);
  assert.equal(grown.code, 0, grown.stderr);
  const rows = readFileSync(join(out, 'results.jsonl'), 'utf8').trim().split('\n');
  assert.deepEqual(
    rows.map((row) => JSON.parse(row).item_id),
    ['1', '2', '3'],
  );
  assert.equal((await command(['verify', 'items', '--data-dir', out])).code, 0);
  const again = await run([{ ms: 1 }, { ms: 2 }, { ms: 3 }]);
  assert.match(again.stdout, /"total": 3/);
});

test('a scraper of the browser lane gets workers of that lane', async () => {
  const out = join(tempFolder(), 'out');
  const env = { TRAWL_SCRAPERS: join(import.meta.dirname, '..', 'flow', 'scrapers') };
  const ended = await command(['run', 'lane-of-process', '--input', 'a=1', '--out', out], env);
  endsWith(0, ended);
  assert.match(ended.stderr, /^Job input-[0-9a-f]{8} completed in .*\n {2}1 of 1 \(100 %\): 1 ok, 0 failed\n/m);
});

test('a worker process that dies is reported, and its other items are still done', async () => {
  const folder = tempFolder();
  const out = join(folder, 'out');
  const items = writeLines(folder, 'items.jsonl', [
    { item_id: 'bad', input: { kill: true } },
    { item_id: 'good', input: {} },
  ]);
  const ended = await command(['run', 'example-killer', '--items', items, '--out', out]);
  endsWith(1, ended);
  assert.match(ended.stderr, /^A worker process ended by SIGKILL\. Another takes its place/m);
  assert.deepEqual(
    rowsOf(out).map(({ item_id, error }) => [item_id, error?.type ?? null]),
    [
      ['bad', 'poison'],
      ['good', null],
    ],
  );
});

test('a list that was cut off is not started, and the repaired one is', async () => {
  const folder = tempFolder();
  const out = join(folder, 'out');
  const words = ['run', 'example-mock', '--items', join(folder, 'items.csv'), '--out', out];
  writeLines(folder, 'items.csv', ['apn', 'a', '"b']);
  const refused = await command(words);
  endsWith(2, refused);
  assert.match(
    refused.stderr,
    /truncated or damaged.*stays held with 1 item\.\nRepair .*\n {2}trawl run example-mock /s,
  );
  assert.doesNotMatch(refused.stderr, /trawl jobs/);
  writeLines(folder, 'items.csv', ['apn', 'a', 'b']);
  endsWith(0, await command(words));
  assert.deepEqual(
    rowsOf(out).map((row) => row.item_id),
    ['a', 'b'],
  );
});

test('a row whose data are gone is counted, and the exit code says so', async () => {
  const folder = tempFolder();
  const out = join(folder, 'out');
  const items = writeLines(folder, 'items.csv', ['item_id,apn', 'a,101-01-001', 'b,101-01-002']);
  const words = ['run', 'example-mock', '--items', items, '--out', out];
  endsWith(0, await command(words));
  const kept = join(out, 'results', 'items', 'items', 'a');
  // On a busy machine a lease may run out; the files of a second attempt are then in a folder of their own.
  for (const name of readdirSync(kept, { recursive: true, encoding: 'utf8' })) {
    if (basename(name).startsWith('data')) rmSync(join(kept, name));
  }
  const again = await command(words);
  endsWith(1, again);
  assert.match(again.stdout, /^Done already: nothing was left to do\.\n/);
  assert.match(again.stdout, /1 row without the data that was stored/);
});

test('columns with other names are mapped, and those that the scraper does not know are named and ignored', async () => {
  const folder = tempFolder();
  const out = join(folder, 'out');
  const items = join(folder, 'assessor.csv');
  writeFileSync(items, 'Parcel Number,Deed Book\n200-14-030,17\n');
  const words = ['run', 'maricopa-az', '--items', items, '--out', out, '--policy'];
  const policy = writePolicy(folder, { retries: { max_retries: 0 } });
  const unmapped = await command([...words, policy]);
  endsWith(2, unmapped);
  assert.match(unmapped.stderr, /apn/);

  // Nothing can be reached from here: the outcome of the item shows that the input was right.
  const mapped = await command([...words, policy, '--columns', 'apn=Parcel Number'], {
    TRAWL_DNS_SERVERS: '127.0.0.1:9',
  });
  endsWith(1, mapped);
  assert.match(mapped.stderr, /Ignored 1 column that the scraper does not know: Deed Book/);
  const [row] = rowsOf(out);
  assert.deepEqual(row?.input, { apn: '200-14-030' });
  assert.notEqual(row?.error?.type, 'invalid_input');
});
