import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
import { startCounty } from '../../demo/county.ts';
import type { CreatedAnswer, JobStatusAnswer } from '../../src/contract/job-answers.ts';
import type { ResultPartAnswer, ResultsAnswer } from '../../src/contract/result-answers.ts';
import { startTrawl, tempFolder } from '../cli/trawl.ts';

/**
 * Commands that users bring along from earlier systems, as they type them: curl against a real `trawl serve`. The trial
 * site of `example-http` is redirected to the demo county, because there is no internet here.
 */
const county = await startCounty({ parcels: 10 });
after(() => county.close());
const dataDir = join(tempFolder(), 'data');
const serve = startTrawl(['serve', '--port', '0', '--data-dir', dataDir], {
  TRAWL_LOG_TO: 'stderr',
  TRAWL_ROUTES: `https://httpbin.org=${county.url}`,
  TRAWL_ALLOW_ADDRESSES: 'loopback',
});
const [, url = ''] = await serve.shows(/"url":"(http:[^"]+)"/);

async function curl<T>(...args: string[]): Promise<T> {
  const { stdout } = await promisify(execFile)('curl', ['--silent', '--show-error', ...args]);
  return JSON.parse(stdout) as T;
}

const post = <T>(path: string, json: object) => curl<T>('--json', JSON.stringify(json), url + path);

/** The event stream ends with the job. */
async function whenOver(jobId: string): Promise<JobStatusAnswer> {
  await promisify(execFile)('curl', [
    '--silent',
    '--no-buffer',
    '--output',
    '/dev/null',
    `${url}/jobs/${jobId}/events`,
  ]);
  return curl<JobStatusAnswer>(`${url}/jobs/${jobId}/status`);
}

test('example-http takes a test_param, and its data says what was asked and what came back', async () => {
  const items = [{ item_id: 'test-1', input: { test_param: 'hello' } }];
  const made = await post<CreatedAnswer>('/jobs', { job_id: 'param', scraper_id: 'example-http', items });
  assert.deepEqual([made.seeded_count, made.warnings], [1, []]);
  assert.deepEqual((await whenOver('param')).summary.success, 1);
  const download = `${url}/jobs/param/items/test-1/download?artifact=data`;
  const { content_length, ...data } = await curl<Record<string, unknown>>('--compressed', download);
  assert.deepEqual(data, {
    item_id: 'test-1',
    test_param: 'hello',
    response_url: 'https://httpbin.org/json?test=hello',
    status_code: 200,
  });
  assert.ok(Number(content_length) > 0);
});

test('fifty items of any input run through example-http', async () => {
  const items = Array.from({ length: 50 }, (_, n) => ({ item_id: `item-${n}`, input: { parcel: n, county: 'any' } }));
  await post('/jobs', { job_id: 'fifty', scraper_id: 'example-http', items });
  const { status, summary } = await whenOver('fifty');
  assert.deepEqual([status, summary.success, summary.total], ['completed', 50, 50]);
});

test('a job without a scraper runs the default one, and the answer says which', async () => {
  const items = [{ item_id: 'one', input: { anything: true } }];
  const made = await post<CreatedAnswer>('/jobs', { job_id: 'unnamed', items });
  assert.equal(made.scraper_id, 'example-mock');
  assert.deepEqual(made.warnings, [
    { path: 'scraper_id', code: 'default_scraper', message: 'not given: the default scraper example-mock is used' },
  ]);
  assert.equal((await whenOver('unnamed')).summary.success, 1);
});

test('a job that is shown as completed has its manifests, and each item has a manifest of its own', async () => {
  const items = [{ item_id: '503-51-079A', input: { apn: '503-51-079A' } }];
  await post('/jobs', { job_id: 'indexed', scraper_id: 'example-mock', items });
  assert.equal((await whenOver('indexed')).status, 'completed');
  const folder = join(dataDir, 'results', 'indexed');
  for (const file of ['job_metadata.json', 'manifests/full/part-0.json', 'items/503-51-079A/data.json']) {
    assert.ok(existsSync(join(folder, file)), file);
  }
  const { completed_at, ...manifest } = JSON.parse(
    readFileSync(join(folder, 'manifests/items/503-51-079A.json'), 'utf8'),
  );
  assert.ok(!Number.isNaN(Date.parse(completed_at)));
  assert.deepEqual(manifest, {
    item_id: '503-51-079A',
    status: 'success',
    storage_keys: {
      html: 'indexed/items/503-51-079A/html.html',
      data: 'indexed/items/503-51-079A/data.json',
      metadata: 'indexed/items/503-51-079A/metadata.json',
    },
  });
});

test('filter=error means errors, in the list of parts and in a part', async () => {
  const items = Array.from({ length: 3 }, (_, n) => ({ item_id: `item-${n}`, input: {} }));
  const execution_policy = { retries: { max_retries: 0 } };
  await post('/jobs', { job_id: 'bad', scraper_id: 'example-fail', items, execution_policy });
  await whenOver('bad');
  const parts = await curl<ResultsAnswer>(`${url}/jobs/bad/results?filter=error`);
  assert.equal(parts.filter, 'errors');
  const part = await curl<ResultPartAnswer>(`${url}/jobs/bad/results?filter=error&part=0`);
  assert.equal(part.items.length, 3);
  const { stdout } = await promisify(execFile)('curl', ['--silent', `${url}/jobs/bad/export?filter=error`]);
  assert.equal(stdout.trim().split('\n').length, 3);
});

test('the names of fixed paths are refused as job ids', async () => {
  for (const job_id of ['bulk', 'plan']) {
    const problem = await post<{ status: number; errors: { path: string }[] }>('/jobs', { job_id });
    assert.deepEqual([problem.status, problem.errors[0]?.path], [422, 'job_id']);
  }
});
