import assert from 'node:assert/strict';
import { cpSync, existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { verifyText } from '../../src/cli/verify.ts';
import { command, tempFolder, trawl, writeLines } from './trawl.ts';

test('trawl verify finds the job of a run by its name, and what is missing from its results', async () => {
  const folder = tempFolder();
  const env = { TRAWL_DATA_DIR: folder };
  const list = writeLines(folder, 'items.jsonl', [{ ms: 1, bytes: 30 }]);
  const ran = await command(['run', 'example-slow', '--items', list], env);
  assert.equal(ran.code, 0, ran.stderr);
  const well = await command(['verify', 'items'], env);
  assert.equal(well.code, 0, well.stdout);
  assert.match(well.stdout, /1 item in 3 parts of the manifest, 2 files of \d+ B\nAll is well/);

  const items = join(folder, 'run', 'example-slow', 'results', 'items', 'items');
  for (const name of readdirSync(items)) rmSync(join(items, name), { recursive: true });
  const damaged = await command(['verify', 'items', '--json'], env);
  assert.equal(damaged.code, 1, damaged.stdout);
  const { ok, problem_count: count, problems } = JSON.parse(damaged.stdout);
  assert.deepEqual([ok, count], [false, 2]);
  assert.match(problems[0].problem, /it is missing/);

  cpSync(join(folder, 'run', 'example-slow'), join(folder, 'run', 'other'), { recursive: true });
  const ambiguous = await command(['verify', 'items'], env);
  assert.equal(ambiguous.code, 2);
  assert.match(
    ambiguous.stderr,
    /several runs have a job items: choose one with --data-dir \S+example-slow or \S+other/,
  );
});

test('a job that does not exist is reported, and nothing is created for it', async () => {
  const folder = join(tempFolder(), 'none');
  const ended = await trawl(['verify', '../etc', '--data-dir', folder]);
  assert.equal(ended.code, 3, ended.stderr);
  assert.match(ended.stdout, /Nothing to check/);
  assert.equal(existsSync(folder), false);
});

test('problems are listed with their places, and how many more there are', () => {
  const counts = { total: 3, success: 2, failed: 1, skipped: 0, cancelled: 0 };
  const checked = { parts: 3, items: 3, artifacts: 2, bytes: 2048 };
  const problems = [{ where: 'job-1/items/p-1/html.html', problem: 'it is missing (item p-1)' }];
  const text = verifyText({
    kind: 'checked',
    jobId: 'job-1',
    status: 'completed',
    counts,
    checked,
    problems,
    problemCount: 7,
  });
  assert.equal(
    text,
    [
      'Job job-1 (completed): 2 success, 1 failed of 3',
      'Checked: 3 items in 3 parts of the manifest, 2 files of 2 KiB',
      '',
      '7 problems:',
      '  job-1/items/p-1/html.html: it is missing (item p-1)',
      '  and 6 more',
    ].join('\n'),
  );
});
