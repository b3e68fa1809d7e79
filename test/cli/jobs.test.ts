import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Command } from 'commander';
import { EXIT } from '../../src/cli/exit-codes.ts';
import { addExtractCommand } from '../../src/cli/extract.ts';
import { addJobsCommands } from '../../src/cli/jobs/commands.ts';
import { startService } from '../api/service.ts';
import { answerJson, bodyOf, startApi } from './api-stub.ts';
import { command, startTrawl, tempFolder, trawl, writeLines } from './trawl.ts';

/** `trawl jobs …` as a user types it for the server of the test. */
function jobsOf(url: string) {
  return (...words: readonly string[]) => command(['jobs', ...words], { TRAWL_URL: url });
}

function parcels(count: number): string[] {
  return Array.from({ length: count }, (_, at) => `200-${at + 1}`);
}

test('a list becomes a job that is watched to its end, and its results come back in every form', async () => {
  const { url } = await startService();
  const jobs = jobsOf(url);
  const folder = tempFolder();
  const list = writeLines(folder, 'parcels.csv', ['apn', ...parcels(40), '1,2,3', '200-1']);

  // A display and rows fill pipes and get their own processes. A job that is over at the first look has no display.
  const policy = writeLines(folder, 'paced.json', ['{"throttling":{"min_delay_between_items_seconds":0.02}}']);
  const from = ['--items', list, '--policy', policy];
  const create = ['jobs', 'create', 'example-mock', ...from, '--job-id', 'a/b', '--label', 'c=d=e', '--watch'];
  const made = await trawl(create, { TRAWL_URL: url });
  assert.match(made.stderr, /40 items added, 1 duplicate left unchanged\./);
  assert.match(made.stderr, /line 42: it has 3 fields, and the header 1/);
  assert.match(made.stderr, /40\/40 100 %/);
  assert.match(made.stdout, /^Job a\/b completed in .*\n {2}40 of 40 \(100 %\): 40 ok, 0 failed\n/);
  assert.equal(made.code, EXIT.someItemsFailed);

  const [asJson, asText, listed, watched] = await Promise.all([
    jobs('status', 'a/b', '--json'),
    jobs('status', 'a/b'),
    jobs('list'),
    jobs('watch', 'a/b'),
  ]);
  const shown = JSON.parse(asJson.stdout);
  assert.deepEqual([shown.status, shown.labels, shown.summary.success], ['completed', { c: 'd=e' }, 40]);
  assert.match(asText.stdout, /^Job a\/b: completed\n {2}scraper {3}example-mock 1\.1\.0\n/);
  assert.match(listed.stdout, /^JOB .*\na\/b {2}completed {2}example-mock {2}100 % {5}40 {2}40 {7}0 /);
  assert.equal(watched.code, EXIT.done);

  const three = await jobs('items', 'a/b', '--limit', '3');
  assert.equal(three.stdout.trimEnd().split('\n').length, 4);
  assert.match(three.stderr, /There are more/);
  const all = (await jobs('items', 'a/b', '--all', '--json')).stdout.trimEnd().split('\n');
  assert.deepEqual(
    all.map((line) => JSON.parse(line).item_id),
    parcels(40),
  );
  assert.match((await jobs('items', 'a/b', '200-7')).stdout, /ATTEMPT.*\n +1 .* success .*[\s\S]*html +\d+ B/);
  assert.match((await jobs('results', 'a/b')).stdout, /final\.\n\nPART .*\n +0 +40 {2}[0-9a-f]{64} /);
  assert.equal(JSON.parse((await jobs('results', 'a/b', '--part', '0', '--json')).stdout).items.length, 40);

  const rows = join(folder, 'rows.jsonl');
  assert.equal((await jobs('export', 'a/b', '--out', rows)).code, EXIT.done);
  assert.equal(readFileSync(rows, 'utf8').trimEnd().split('\n').length, 40);
  const piped = await trawl(['jobs', 'export', 'a/b', '--format', 'csv'], { TRAWL_URL: url });
  assert.match(piped.stdout, /^item_id,status,.*\r?\n200-1,success,/);
  const parquet = join(folder, 'rows.parquet');
  await jobs('export', 'a/b', '--out', parquet);
  assert.equal(readFileSync(parquet).subarray(0, 4).toString(), 'PAR1');

  const exploded = await jobs('export', 'a/b', '--explode', 'apn');
  assert.match(exploded.stderr, /explode: apn is not a list/);
  const marked = join(folder, 'marked.csv');
  assert.equal((await jobs('export', 'a/b', '--bom', '--out', marked)).code, EXIT.done);
  assert.equal(readFileSync(marked).subarray(0, 3).toString('hex'), 'efbbbf');
  assert.match((await jobs('export', 'a/b', '--bom')).stderr, /--bom is only for CSV/);

  const page = join(folder, 'page.html');
  const saved = await jobs('download', 'a/b', '200-7', '--artifact', 'html', '--out', page, '--json');
  const sha256 = createHash('sha256').update(readFileSync(page)).digest('hex');
  assert.deepEqual(JSON.parse(saved.stdout), { file: page, size: readFileSync(page).length, sha256 });
  assert.equal(JSON.parse((await jobs('download', 'a/b', '200-7', '--artifact', 'data')).stdout).apn, '200-7');
  const none = await jobs('download', 'a/b', '200-7', '--artifact', 'screenshot', '--out', join(folder, 'x.png'));
  assert.deepEqual([none.code, existsSync(join(folder, 'x.png'))], [EXIT.badUsage, false]);
});

test('a job whose breaker trips ends with 3, and can be inspected, retried and deleted', async () => {
  const { url } = await startService();
  const jobs = jobsOf(url);
  const folder = tempFolder();
  const policy = writeLines(folder, 'policy.json', [
    { circuit_breaker: { min_requests: 5, failure_threshold_percentage: 0.8 }, retries: { max_retries: 0 } },
  ]);
  const list = writeLines(
    folder,
    'items.jsonl',
    parcels(10).map((apn) => ({ apn })),
  );
  const create = ['create', 'example-fail', '--items', list, '--policy', policy, '--concurrency', '1'];
  const failed = await command(['jobs', ...create, '--job-id', 'f', '--watch'], { TRAWL_URL: url });
  assert.equal(failed.code, EXIT.failed);
  assert.match(failed.stdout, /^Job f failed .*5 of 5 failed[\s\S]*5 {2}server_error: [\s\S]*trawl jobs resume f\n/);
  assert.match(
    (await jobs('failures', 'f')).stdout,
    /^5 items failed\.\n\nCOUNT .*\n +5 {2}[0-9a-f]{12} {2}server_error {2}may help /,
  );
  assert.match((await jobs('retry', 'f', '--preview')).stdout, /^5 items would be reopened/);
  assert.match((await jobs('retry', 'f', '--error-type', 'blocked')).stdout, /No items reopened/);
  const one = await jobs('retry', 'f', '--item', '200-1', '--json');
  assert.deepEqual(JSON.parse(one.stdout).items, 1);
  assert.match((await jobs('cancel', 'f')).stdout, /^Job f is cancelled/);
  assert.deepEqual((await jobs('cancel', 'f')).code, EXIT.badUsage);
  assert.match((await jobs('delete', 'f')).stderr, /add --yes to confirm/);
  assert.equal((await jobs('delete', 'f', '--yes')).code, EXIT.done);
  const gone = await jobs('status', 'f');
  assert.deepEqual([gone.code, gone.stderr], [EXIT.badUsage, 'trawl: Job not found: f\n']);
});

test('a waiting job accepts the rest of its list, and one that was started is left alone', async () => {
  const { url } = await startService({ workers: 0 });
  const jobs = jobsOf(url);
  const folder = tempFolder();
  const some = writeLines(folder, 'some.csv', ['apn', ...parcels(3)]);
  const whole = writeLines(folder, 'whole.csv', ['apn', ...parcels(5)]);
  const held = await jobs('create', 'example-mock', '--items', some, '--job-id', 'h', '--hold');
  assert.match(held.stdout, /^3 items added\.\nJob h is held\. To start it:\n {2}trawl jobs start h\n/);
  const rest = await jobs('create', 'example-mock', '--items', whole, '--job-id', 'h');
  assert.match(rest.stderr, /Continuing job h, which already has 3 items\./);
  assert.match(rest.stdout, /^2 items added, 3 duplicates left unchanged\.\nJob h is started/);
  const again = await jobs('create', 'example-mock', '--items', whole, '--job-id', 'h');
  assert.match(again.stderr, /job h already exists and was started \(5 items\): use another --job-id/);
  const other = await jobs('create', 'example-slow', '--items', whole, '--job-id', 'h');
  assert.match(other.stderr, /job h already exists, with the scraper example-mock/);
  assert.deepEqual([again.code, other.code], [EXIT.badUsage, EXIT.badUsage]);
  const empty = writeLines(folder, 'empty.csv', ['apn']);
  const nothing = await jobs('create', 'example-mock', '--items', empty, '--job-id', 'e');
  assert.match(nothing.stderr, /empty.csv has no items[\s\S]*--job-id e\n$/);
  const wrong = await jobs('create', 'example-mock', '--input', 'apn=1', '--input', 'apn=2');
  assert.deepEqual([wrong.code, wrong.stderr], [EXIT.badUsage, 'trawl: --input: apn is given twice\n']);
});

test('a list from elsewhere is sent as it is, with a notice of what is ignored', async () => {
  const { url } = await startService({ workers: 0 });
  const jobs = jobsOf(url);
  const list = writeLines(tempFolder(), 'assessor.csv', ['Parcel,Owner,City', '101-01-001,SMITH,DEMO']);
  const create = ['create', 'demo-parcel', '--items', list, '--hold', '--job-id', 'p'];
  const strict = await jobs(...create, '--columns', 'apn=Parcel', '--strict-columns');
  assert.match(strict.stderr, /the scraper demo-parcel does not know these columns: Owner, City/);
  assert.equal(strict.code, EXIT.badUsage);
  const wrong = await jobs(...create);
  assert.match(wrong.stderr, /none of its columns \(Parcel, Owner, City\) is a field .* such as columns=apn=Parcel/);
  const made = await jobs(...create, '--columns', 'apn=Parcel');
  assert.match(
    made.stdout,
    /^1 item added\.\nIgnored 2 columns that the scraper does not know: Owner, City\nJob p is held/,
  );
  assert.equal(made.code, EXIT.done);
  const bad = await jobs(...create, '--columns', 'apn');
  assert.deepEqual(
    [bad.code, bad.stderr],
    [EXIT.badUsage, 'trawl: --columns: "apn" must be field=column, such as parid=APN\n'],
  );
});

test('an upload that breaks off says which command continues it', async () => {
  const folder = tempFolder();
  const list = writeLines(folder, 'list.csv', ['apn', ...parcels(50_000)]);
  const made: unknown[] = [];
  const { url } = await startApi(async (request, response) => {
    if (request.url !== '/jobs') request.once('data', () => request.socket.destroy());
    else {
      made.push(JSON.parse(await bodyOf(request)));
      answerJson(response, { warnings: [] }, 201);
    }
  });
  const { code, stderr } = await jobsOf(url)('create', 'example-mock', '--items', list, '--concurrency', '7');
  const [{ job_id: jobId, ...job }] = made as [{ job_id: string }];
  assert.deepEqual(job, {
    ...{ scraper_id: 'example-mock', hold: true },
    execution_policy: { throttling: { max_concurrent_workers: 7 } },
  });
  assert.equal(code, EXIT.badUsage);
  assert.match(
    stderr,
    /cannot reach .*\nThe list was not sent completely\. The job is held with what has arrived\. To continue, run/,
  );
  assert.ok(
    stderr.endsWith(`\n  trawl jobs create example-mock --items ${list} --concurrency 7 --job-id ${jobId}\n`),
    stderr,
  );
});

test('watching survives a restart of the server, and Ctrl-C ends only the watching', async () => {
  const first = await startService();
  const { url, dataDir } = first;
  const env = { TRAWL_URL: url };
  const list = writeLines(
    tempFolder(),
    'items.jsonl',
    Array.from({ length: 60 }, (_, n) => ({ n, ms: 500 })),
  );
  // Items run one at a time, so that the job lasts until both commands have begun to watch it, even on a busy machine.
  const create = ['jobs', 'create', 'example-slow', '--items', list, '--job-id', 's', '--concurrency', '1'];
  assert.equal((await command(create, env)).code, EXIT.done);

  const impatient = startTrawl(['jobs', 'watch', 's'], env);
  await impatient.shows(/\/60/);
  impatient.signalGroup('SIGINT');
  const left = await impatient.ended;
  assert.equal(left.code, EXIT.interrupted);
  assert.match(left.stderr, /the job continues\. To watch it again:\n {2}trawl jobs watch s\n$/);

  const watching = startTrawl(['jobs', 'watch', 's'], env);
  await watching.shows(/\/60/);
  await first.stop();
  await watching.shows(/Reconnecting; the job continues/);
  await startService({ dataDir, port: Number(new URL(url).port) });
  await watching.shows(/Reconnected/);
  const execution_policy = { throttling: { max_concurrent_workers: 60 } };
  const headers = { 'content-type': 'application/json' };
  const faster = await fetch(`${url}/jobs/s`, { method: 'PATCH', headers, body: JSON.stringify({ execution_policy }) });
  assert.equal(faster.status, 200, await faster.text());
  const { code, stdout } = await watching.ended;
  assert.match(stdout, /60 of 60 \(100 %\): 60 ok, 0 failed/);
  assert.equal(code, EXIT.done);
});

test('every command explains what it does, with an example', () => {
  const program = new Command('trawl');
  addJobsCommands(program);
  addExtractCommand(program);
  const [jobs, extract] = program.commands;
  const commands = [...(jobs?.commands ?? []), ...(extract ? [extract] : [])];
  assert.equal(commands.length, 17);
  for (const command of commands) {
    let help = '';
    const writeOut = (text: string) => {
      help += text;
    };
    command.configureOutput({ writeOut }).outputHelp();
    assert.match(help, new RegExp(`Examples?:\\n {2}\\$ trawl (?:jobs )?${command.name()}\\b`));
    assert.match(help, /--url/);
    assert.ok(
      help.split('\n').every((line) => line.length <= 120),
      help,
    );
  }
});
