import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { EXIT } from '../../src/cli/exit-codes.ts';
import type { JobAnswer } from '../../src/contract/job-answers.ts';
import { startService } from '../api/service.ts';
import { answerJson, startApi } from './api-stub.ts';
import { command, tempFolder, trawl, writeLines } from './trawl.ts';

test('a list without a usable line is reported line by line, and the same command is not advised', async () => {
  const { url } = await startService({ workers: 0 });
  const list = writeLines(tempFolder(), 'list.csv', ['apn', '1,2', '3,4']);
  const create = ['jobs', 'create', 'example-mock', '--items', list, '--url', url, '--job-id'];
  const told = await command([...create, 'a']);
  assert.equal(told.code, EXIT.badUsage);
  assert.match(
    told.stderr,
    /^Warning: no workers serve the http lane.*\n0 items added\.\n\n2 lines could not be read.*\n {2}line 2: it has 2 fields.*\n {2}line 3: /,
  );
  assert.match(
    told.stderr,
    /\ntrawl: no line of the list can be used, and job a stays held without items: .*--job-id a\n$/,
  );
  assert.ok(!told.stderr.includes('trawl jobs create'), told.stderr);
  const asJson = await command([...create, 'b', '--json', '--hold']);
  const { status, items } = JSON.parse(asJson.stdout);
  assert.deepEqual([asJson.code, status, items.bad, items.bad_lines.length], [EXIT.badUsage, 'pending', 2, 2]);
});

test('a list that was cut off leaves the job held, and the hints name the server', async () => {
  const { url } = await startService({ workers: 0 });
  const folder = tempFolder();
  const lists = { 'open.json': '[{"apn":"1"},{"apn":"2"},', 'quote.csv': 'apn\n1\n2\n"3\n4\n' };
  for (const [name, text] of Object.entries(lists)) {
    const list = join(folder, name);
    writeFileSync(list, text);
    const create = ['jobs', 'create', 'example-mock', '--items', list, '--url', url, '--job-id', name];
    const { code, stdout, stderr } = await command(create);
    assert.deepEqual([code, stdout], [EXIT.badUsage, '']);
    assert.match(stderr, /^Warning: no workers serve the http lane.*\n2 items added\.\n\n1 line could not be read/);
    const hints = [`trawl ${create.join(' ')}`, `trawl jobs start ${name} --url ${url}`];
    assert.ok(stderr.includes(`Job ${name} stays held with 2 items.\n`), stderr);
    assert.ok(
      hints.every((hint) => stderr.includes(`\n  ${hint}\n`)),
      stderr,
    );
    const job = (await (await fetch(`${url}/jobs/${name}`)).json()) as JobAnswer;
    assert.deepEqual([job.held, job.summary.total], [true, 2]);
  }
});

test('with --json a problem of the API is also written to stdout, unchanged, even one of a newer server', async () => {
  const problem = {
    ...{ type: 'urn:trawl:problem:brand_new', title: 'Brand new', status: 409, code: 'brand_new', detail: 'It is.' },
    errors: [{ path: 'a', message: 'b' }],
  };
  const { url } = await startApi((_, response) => answerJson(response, problem, 409));
  const words = ['jobs', 'pause', 'j', '--url', url];
  const [plain, asJson] = await Promise.all([trawl(words), command([...words, '--json'])]);
  assert.deepEqual([plain.code, plain.stdout, plain.stderr], [EXIT.badUsage, '', 'trawl: It is.\n  a: b\n']);
  assert.deepEqual([asJson.code, JSON.parse(asJson.stdout), asJson.stderr], [EXIT.badUsage, problem, plain.stderr]);
});

test('a list that breaks off in the middle is not followed by a problem', async () => {
  let pages = 0;
  const { url } = await startApi((_, response) => {
    pages += 1;
    if (pages === 1) answerJson(response, { items: [{ item_id: 'a' }], next_cursor: 'more' });
    else answerJson(response, { status: 404, code: 'job_not_found', detail: 'Job not found: j' }, 404);
  });
  const { code, stdout, stderr } = await command(['jobs', 'items', 'j', '--all', '--json', '--url', url]);
  assert.deepEqual([code, stdout, stderr], [EXIT.badUsage, '{"item_id":"a"}\n', 'trawl: Job not found: j\n']);
});

test('typing mistakes are reported before any request to a server', async () => {
  const folder = tempFolder();
  const out = join(folder, 'first.xlsx');
  const nope = join(folder, 'nope.json');
  const [sheet, policy, option] = await Promise.all([
    command(['jobs', 'export', 'j', '--out', out]),
    command(['jobs', 'create', 'x', '--input', 'a=1', '--policy', nope]),
    trawl(['jobs', 'export', 'j', '--nope']),
  ]);
  assert.deepEqual([sheet.code, policy.code, option.code], [EXIT.badUsage, EXIT.badUsage, EXIT.badUsage]);
  assert.equal(
    sheet.stderr,
    `trawl: --out ${out}: unknown format .xlsx; set --format to one of jsonl, csv, parquet, zip\n`,
  );
  assert.equal(existsSync(out), false);
  assert.equal(policy.stderr, `trawl: --policy ${nope}: no such file\n`);
  assert.match(option.stderr, /unknown option '--nope'[\s\S]*\(see trawl jobs export --help\)/);
});

test('a file without an extension is lines of JSON, and --format overrides any extension', async () => {
  const asked: string[] = [];
  const { url } = await startApi(({ url: path = '' }, response) => {
    asked.push(path);
    response.end('{}\n');
  });
  const folder = tempFolder();
  const plain = await command(['jobs', 'export', 'j', '--url', url, '--out', join(folder, 'rows')]);
  const named = await command([
    'jobs',
    'export',
    'j',
    '--url',
    url,
    '--out',
    join(folder, 'a.xlsx'),
    '--format',
    'csv',
  ]);
  assert.deepEqual([plain.code, named.code], [EXIT.done, EXIT.done]);
  assert.deepEqual(asked, ['/jobs/j/export?format=jsonl', '/jobs/j/export?format=csv']);
  assert.match(plain.stderr, /rows: 1 row, 3 B\n$/);
  assert.doesNotMatch(plain.stderr, /1 rows/);
});

test('a retry of an item that did not fail ends with 1', async () => {
  const { url } = await startApi((_, response) =>
    answerJson(response, { job_id: 'j', status: 'completed', preview: false, items: 0 }),
  );
  const { code, stdout } = await command(['jobs', 'retry', 'j', '--item', 'nope', '--url', url]);
  assert.equal(code, EXIT.someItemsFailed);
  assert.equal(stdout, 'No items reopened: 1 of the given ids is not a failed item of this job.\n');
});
