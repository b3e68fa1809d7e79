import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import type { JobAnswer, JobStatusAnswer } from '../../src/contract/job-answers.ts';
import { startTrawl, tempFolder, trawl } from '../cli/trawl.ts';

/** What the documentation shows, as a user would type it: `trawl serve` and curl, with none of our code in between. */
const serve = startTrawl(['serve', '--port', '0', '--data-dir', join(tempFolder(), 'data')], {
  TRAWL_LOG_TO: 'stderr',
});
const [, url = ''] = await serve.shows(/"url":"(http:[^"]+)"/);

async function curl<T>(...args: string[]): Promise<T> {
  const { stdout } = await promisify(execFile)('curl', ['--silent', '--show-error', '--fail-with-body', ...args]);
  return JSON.parse(stdout) as T;
}

const post = <T>(path: string, json: object) => curl<T>('--json', JSON.stringify(json), url + path);

/** Every `summary` that curl prints of a job's events, until the stream ends with the job. */
async function* summariesOf(jobId: string): AsyncGenerator<JobStatusAnswer> {
  const child = spawn('curl', ['--silent', '--no-buffer', `${url}/jobs/${jobId}/events`], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let text = '';
  for await (const chunk of child.stdout.setEncoding('utf8')) {
    text += chunk;
    const lines = text.split('\n');
    text = lines.pop() ?? '';
    for (const line of lines) {
      const data = line.startsWith('data: ') ? (JSON.parse(line.slice(6)) as Partial<JobStatusAnswer>) : {};
      if (data.summary !== undefined) yield data as JobStatusAnswer;
    }
  }
}

test('a job whose ten items all fail ends after about five of them, and says why', async () => {
  const items = Array.from({ length: 10 }, (_, n) => ({ item_id: `item-${n}`, input: {} }));
  const execution_policy = {
    throttling: { max_concurrent_workers: 3 },
    retries: { max_retries: 0 },
    circuit_breaker: { min_requests: 5, failure_threshold_percentage: 0.8 },
  };
  await post('/jobs', { job_id: 'failing', scraper_id: 'example-fail', items, execution_policy });
  let last: JobStatusAnswer | null = null;
  for await (const seen of summariesOf('failing')) last = seen;
  assert.equal(last?.status, 'failed');
  const job = await curl<JobAnswer>(`${url}/jobs/failing`);
  const { pending, failed, total } = job.summary;
  assert.ok(failed >= 5 && failed <= 7, `${failed} finished`);
  assert.deepEqual([job.status, pending, total], ['failed', 10 - failed, 10]);
  assert.equal(job.reason?.code, 'breaker');
  assert.match(job.reason?.message ?? '', /\d of \d failed \(100 %, limit 80 %\)/);
  const [evidence] = job.reason?.evidence ?? [];
  assert.deepEqual([evidence?.type, evidence?.pattern], ['server_error', 'item # was asked to fail']);
  assert.ok((evidence?.examples.length ?? 0) > 0);
  assert.equal(job.breaker.state, 'open');
});

test('fifty items with three workers: three at a time, never more, until all are done', async () => {
  const items = Array.from({ length: 50 }, (_, n) => ({ item_id: `item-${n}`, input: { ms: 60 } }));
  const execution_policy = { throttling: { max_concurrent_workers: 3 } };
  await post('/jobs', { job_id: 'three', scraper_id: 'example-slow', items, execution_policy });
  const inFlight = ({ summary }: JobStatusAnswer) => summary.queued + summary.in_progress;
  const seen: number[] = [];
  let last: JobStatusAnswer | null = null;
  for await (const each of summariesOf('three')) {
    last = each;
    // The limit holds between two events of the stream as well: the status is read once for each.
    seen.push(inFlight(each), inFlight(await curl<JobStatusAnswer>(`${url}/jobs/three/status`)));
  }
  assert.equal(Math.max(...seen), 3, seen.join());
  assert.deepEqual([last?.status, last?.summary.success, last?.summary.total], ['completed', 50, 50]);
});

test('a server that other machines could reach does not start without a key, and says what to do', async () => {
  const args = ['serve', '--host', '0.0.0.0', '--port', '0', '--data-dir', join(tempFolder(), 'data')];
  const { code, stderr } = await trawl(args);
  assert.equal(code, 2);
  assert.match(stderr, /set TRAWL_API_KEY to listen on 0\.0\.0\.0/);
});

test('a port that is in use is reported as such', async () => {
  const { port } = new URL(url);
  const { code, stderr } = await trawl(['serve', '--port', port, '--data-dir', join(tempFolder(), 'data')]);
  assert.equal(code, 2);
  assert.match(stderr, new RegExp(`port ${port} of 127\\.0\\.0\\.1 is in use`));
});
