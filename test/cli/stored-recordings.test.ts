import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { EXIT } from '../../src/cli/exit-codes.ts';
import type { JobAnswer } from '../../src/contract/job-answers.ts';
import { startService } from '../api/service.ts';
import { command, tempFolder } from './trawl.ts';

const { url, ask } = await startService({ workers: 0 });
const folder = tempFolder();
const run = (...words: readonly string[]) => command(words, { TRAWL_URL: url });

const STEPS = [{ type: 'goto', url: 'https://county.test/{{input.apn}}' }];
function write(name: string, content: unknown): string {
  const file = join(folder, name);
  writeFileSync(file, JSON.stringify(content));
  return file;
}
const county = (more: object = {}) => ({
  id: 'my-county',
  version: '1',
  hosts: ['county.test'],
  steps: STEPS,
  ...more,
});

test('a recording is stored on a server, listed, shown and removed', async () => {
  const file = write('county.recording.json', county());
  const added = await run('scrapers', 'add', file);
  assert.deepEqual([added.code, added.stderr], [EXIT.done, '']);
  assert.equal(added.stdout, 'Stored my-county 1: new jobs use it. See trawl scrapers show my-county --server.\n');
  await run('scrapers', 'add', write('two.recording.json', county({ version: '2' })));
  assert.match((await run('scrapers', 'add', file)).stdout, /^Stored my-county 1: new jobs use 2\./);
  assert.match(
    (await run('scrapers', 'list', '--server')).stdout,
    /^my-county +my-county +2 +recording +county\.test +api$/m,
  );
  const shown = await run('scrapers', 'show', 'my-county', '--server');
  assert.match(shown.stdout, /^source {4}stored through the API\nversions {2}1 \(\S+\), 2 \(\S+\)$/m);
  assert.equal((await run('scrapers', 'remove', 'my-county')).stdout, 'Removed my-county with 2 versions.\n');
  const gone = await run('scrapers', 'show', 'my-county', '--url', url);
  assert.deepEqual([gone.code, gone.stdout], [EXIT.badUsage, '']);
  assert.match(gone.stderr, /^trawl: There is no scraper my-county/);
});

test('a recording with a mistake is refused, with the step', async () => {
  const bad = await run('scrapers', 'add', write('bad.recording.json', county({ steps: [{ type: 'clik' }] })));
  assert.deepEqual([bad.code, bad.stdout], [EXIT.badUsage, '']);
  assert.match(bad.stderr, /^trawl: The recording cannot be used: see errors\.\n {2}steps\.0\S*: step 1 \(clik\)/);
  const missing = await run('scrapers', 'add', join(folder, 'nothing.json'));
  assert.match(missing.stderr, /recording: .*nothing\.json cannot be read/);
});

test('a job is created with its own recording, or with a list of actions', async () => {
  const file = write('own.recording.json', county());
  const create = (...words: string[]) => run('jobs', 'create', ...words, '--input', 'apn=7', '--hold');
  const made = await create('--recording', file, '--job-id', 'own');
  assert.equal(made.code, EXIT.done, made.stderr);
  const again = await create('--recording', file, '--job-id', 'own');
  assert.match(again.stderr, /Continuing job own, which already has 1 item\./);
  const { json } = await ask('GET', '/jobs/own');
  assert.deepEqual(
    [(json as JobAnswer).scraper_id, (json as JobAnswer).input.recording?.origin],
    ['my-county', 'inline'],
  );
  const actions = [{ action: 'goto', url: 'https://county.test/{{input.apn}}' }, { action: 'fly' }];
  const converted = await create('--recording', write('actions.json', actions), '--job-id', 'actions');
  assert.equal(converted.code, EXIT.done, converted.stderr);
  assert.match(converted.stderr, /Warning: entry 2 .* is left out/);
  for (const words of [[], ['my-county', '--recording', file], ['--recording', write('text.json', 'x')]]) {
    assert.equal((await create(...words)).code, EXIT.badUsage);
  }
});
