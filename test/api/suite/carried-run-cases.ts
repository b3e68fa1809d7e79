import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { JobAnswer } from '../../../src/contract/job-answers.ts';
import type {
  CarriedRunsAnswer,
  FoundRunAnswer,
  NothingPendingAnswer,
  StartedRunAnswer,
} from '../../../src/contract/run-answers.ts';
import type { RunAnswer } from '../../../src/contract/scrape-run-answers.ts';
import { untilTrue } from '../../support/until.ts';
import { startService } from '../service.ts';
import { aboveBackend } from './above-backend.ts';
import { Client, type Start } from './client.ts';

const SCRAPERS = [fileURLToPath(new URL('../scrapers', import.meta.url))];
const KEY = 'etl-key-of-the-team';

/** Scrape runs that a service carries out, with another one as the ETL API that keeps them. */
export async function carriedRunCases(start: Start): Promise<void> {
  const etl = await Client.of(withKey(await startService({ workers: 0, apiKey: KEY })));
  const places = { etlApiEndpoint: etl.url, etlApiKey: KEY };
  const client = await Client.of(await start({ ...places, scrapers: SCRAPERS }));
  const above = aboveBackend(client);
  const begin = async (domain: string, urls: readonly string[], more: object = {}) => {
    const answer = await client.ask('POST', '/runs', {
      json: { domain, urls, scraper_id: 'test-run-pages', sessions: 2, max_items_per_session: 5, ...more },
    });
    assert.equal(answer.status, 201, answer.text);
    return answer.json as StartedRunAnswer;
  };
  const runOf = (id: string) => etl.get<RunAnswer>(`/api/scrape-runs/${id}`);
  const ended = async (id: string) => {
    await untilTrue(async () => (await runOf(id)).endTime !== null);
    return await runOf(id);
  };
  const nothingCarried = () => untilTrue(async () => (await client.get<CarriedRunsAnswer>('/runs')).runs.length === 0);

  test('a run is carried out, each URL is reported as it ended, and the run is finalized with its counts', async () => {
    const urls = urlsOf('county.test', 22, (at) => (at === 3 ? '?end=missing' : at === 4 ? '?end=broken' : ''));
    const started = await begin('county.test', urls);
    assert.deepEqual([started.new_run, started.already_started, started.round], [true, false, 1]);
    const run = await ended(started.run_id);
    const { items = [], status, metadata } = run;
    assert.deepEqual(
      items
        .filter(({ done }) => !done)
        .map(({ url, failed, invalid, failedReason }) => [url, failed, invalid, failedReason]),
      [
        [urls[3], undefined, true, 'not_found: there is no such page'],
        [urls[4], true, undefined, 'invalid_output: no owner'],
      ],
    );
    const { finished_count, total_count, failed_count } = metadata;
    assert.deepEqual([status, finished_count, total_count, failed_count], ['finished', 20, 22, 2]);

    // It is an ordinary job, with everything that jobs have.
    const job = await client.get<JobAnswer>(`/jobs/${started.job_id}`);
    assert.deepEqual([job.status, job.summary.success, job.labels['run_id']], ['completed', 20, started.run_id]);
    await nothingCarried();
    const found = await client.get<FoundRunAnswer>(`/runs/${started.run_id}`);
    assert.deepEqual([found.carried, found.job_ids, found.items.pending], [null, [started.job_id], 0]);

    const again = await client.post<StartedRunAnswer>(`/runs/${started.run_id}/retry`, {
      ...{ invalid: true, scraper_id: 'test-run-pages' },
    });
    assert.deepEqual([again.run_id, again.round], [started.run_id, 2]);
    await client.ended(again.job_id);
    await nothingCarried();
    assert.equal((await client.get<JobAnswer>(`/jobs/${again.job_id}`)).summary.total, 2);
  });

  above(
    'a breaker that trips halfway leaves the run open; it finishes once resumed, and a second start repeats nothing',
    async () => {
      const file = join(tmpdir(), `trawl-run-${process.pid}`);
      after(() => rmSync(file, { force: true }));
      const urls = urlsOf('city.test', 20, (at) => (at < 8 ? '' : `?unless=${file}`));
      const execution_policy = { circuit_breaker: { min_requests: 8, consecutive_failures: 3 } };
      const started = await begin('city.test', urls, { sessions: 1, max_items_per_session: 4, execution_policy });
      const { job_id: jobId, run_id: runId } = started;
      await client.until(jobId, ({ data }) => 'status' in data && data['status'] === 'failed');
      await untilTrue(async () => (await runOf(runId)).counts.failed >= 3);
      const open = await runOf(runId);
      assert.deepEqual([open.status, open.endTime], ['processing', null]);
      const second = await client.ask('POST', '/runs', {
        json: { domain: 'city.test', urls, scraper_id: 'test-run-pages' },
      });
      const { already_started, job_status, ...other } = second.json as StartedRunAnswer;
      assert.deepEqual([second.status, already_started, job_status, other.job_id], [200, true, 'failed', jobId]);
      await client.refused(409, 'run_busy', 'POST', `/runs/${runId}/finalize`);

      writeFileSync(file, '');
      await client.post(`/jobs/${jobId}/resume`);
      const { metadata, counts } = await ended(runId);
      const { summary } = await client.get<JobAnswer>(`/jobs/${jobId}`);
      assert.deepEqual([summary.total, summary.success + summary.failed], [20, 20]);
      assert.deepEqual([counts.completed, counts.failed, counts.pending], [summary.success, summary.failed, 0]);
      assert.deepEqual([metadata.finished_count, metadata.failed_count], [summary.success, summary.failed]);
      assert.ok(summary.success >= 8 + 3 && summary.failed >= 3, JSON.stringify(summary));
    },
  );

  above('what cannot be carried out is refused, with the field that is wrong', async () => {
    const wrong = async (json: object) => {
      const request = { domain: 'wrong.test', urls: ['https://wrong.test/1'], ...json };
      const { errors = [] } = await client.refused(422, 'invalid_request', 'POST', '/runs', { json: request });
      return errors.map(({ path, message }) => `${path}: ${message}`).join('\n');
    };
    assert.match(await wrong({ provider: 'browserbase' }), /^provider: .*get their browsers from local/);
    assert.match(await wrong({ scraper_id: 'nobody' }), /^scraper_id: there is no scraper nobody/);
    assert.match(await wrong({}), /^scraper_id: no scraper has the host wrong\.test/);
    assert.match(await wrong({ max_items_per_session: 101 }), /^max_items_per_session: /);
    assert.match(await wrong({ urls: ['/relative'] }), /^urls\.0: must be an absolute/);
    await client.refused(404, 'run_not_found', 'POST', '/runs', {
      json: { domain: 'empty.test', scraper_id: 'test-run-pages' },
    });
    for (const path of ['/runs/nobody/retry', '/runs/nobody/finalize']) {
      await client.refused(404, 'run_not_found', 'POST', path, { json: path.endsWith('retry') ? {} : undefined });
    }
    await client.refused(404, 'run_not_found', 'GET', '/runs/nobody');
    await etl.refused(409, 'etl_not_configured', 'GET', '/runs');
  });

  above('a run in which nothing is pending is finalized at once, and any run can be ended by hand', async () => {
    const runs = '/api/scrape-runs';
    const { _id: id } = (
      await etl.ask('POST', runs, { json: { domain: 'done.test', items: [{ url: 'https://done.test/' }] } })
    ).json as RunAnswer;
    await etl.patch(`${runs}/${id}`, { updateItem: { url: 'https://done.test/', changes: { done: true } } });
    const request = { domain: 'done.test', scraper_id: 'test-run-pages' };
    assert.deepEqual(await client.post<NothingPendingAnswer>('/runs', request), {
      ...{ run_id: id, domain: 'done.test', nothing_pending: true },
    });
    assert.equal((await runOf(id)).status, 'finished');
    const { _id: other } = (
      await etl.ask('POST', runs, { json: { domain: 'done.test', items: [{ url: 'https://done.test/' }] } })
    ).json as RunAnswer;
    const { items } = await client.post<FoundRunAnswer>(`/runs/${other}/finalize`);
    assert.deepEqual(items, { total: 1, completed: 0, failed: 0, pending: 1 });
    assert.equal((await runOf(other)).status, 'finished');
  });
}

function urlsOf(host: string, count: number, query: (at: number) => string): string[] {
  return Array.from({ length: count }, (_, at) => `https://${host}/${at}${query(at)}`);
}

function withKey<Service extends Awaited<ReturnType<typeof startService>>>(service: Service): Service {
  const headers = { authorization: `Bearer ${KEY}` };
  const ask: Service['ask'] = (method, path, asked = {}) =>
    service.ask(method, path, { ...asked, headers: { ...headers, ...asked.headers } });
  return { ...service, ask };
}
