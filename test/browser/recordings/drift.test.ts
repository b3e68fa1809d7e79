import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { JobAnswer } from '../../../src/contract/job-answers.ts';
import { engineForFile, submit, untilFinished } from '../../flow/engine.ts';
import { testChromium } from '../../support/chromium.ts';
import { untilTrue } from '../../support/until.ts';

/** A county whose search button has another id from one day to the next. */
const county = { buttonId: 'btnGo' };
const server = createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://county.test');
  response.setHeader('content-type', 'text/html');
  const apn = searchParams.get('apn') ?? '';
  if (pathname === '/search') {
    const found = `<p id="owner">Owner of ${apn.replace(/[^\w-]/g, '')}</p>`;
    response.end(page(apn.startsWith('none') ? '<p>No records found</p>' : found));
  } else {
    const button = `<button id="${county.buttonId}">Search</button>`;
    response.end(page(`<form action="/search"><input name="apn" aria-label="Parcel">${button}</form>`));
  }
});
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
after(() => server.close());

function page(body: string): string {
  return `<!doctype html><title>County</title><body>${body}</body>`;
}

const folder = mkdtempSync(join(tmpdir(), 'trawl-drift-'));
after(() => rmSync(folder, { recursive: true, force: true }));
for (const engine of ['http', 'browser']) {
  const recording = {
    ...{ id: `search-${engine}`, name: 'Search', version: '1.0.0', hosts: ['county.test'], engine },
    steps: [
      { type: 'goto', url: 'http://county.test/' },
      { type: 'fill', selectors: ['input[name=apn]'], value: '{{input.apn}}' },
      { type: 'click', selectors: ['#btnGo', 'text/Search'] },
      // Three items wait in vain for the button.
      { type: 'extractText', selectors: ['#owner'], field: 'owner', timeoutMs: 3000 },
    ],
  };
  writeFileSync(join(folder, `search-${engine}.recording.json`), JSON.stringify(recording));
}

const engine = await engineForFile({
  ...{ port: 0, workers: 1, browserWorkers: 1, chromium: (await testChromium()).path, allowAddresses: 'loopback' },
  ...{ scrapers: [folder], routes: `http://county.test=http://127.0.0.1:${(server.address() as AddressInfo).port}` },
});
const url = await engine.listen();

/** What the API says about a job that is over, once workers have reported all its items. */
async function run(jobId: string, scraper: string, apns: readonly string[]): Promise<JobAnswer> {
  const items = apns.map((apn) => ({ item_id: apn, input: { apn } }));
  await submit(engine, { job_id: jobId, scraper_id: scraper, items });
  await untilFinished(engine, jobId);
  let job: JobAnswer | null = null;
  await untilTrue(async () => {
    job = (await (await fetch(`${url}/jobs/${jobId}`)).json()) as JobAnswer;
    return job.steps?.steps[0]?.items === apns.length;
  });
  assert.ok(job);
  return job;
}

for (const kind of ['http', 'browser'] as const) {
  const scraper = `search-${kind}`;

  test(`${kind}: a failure names its step and is counted at it, with its page and its picture`, async () => {
    const job = await run(`${kind}-before`, scraper, ['123-1', 'none-1', 'none-2', 'none-3']);
    assert.deepEqual(
      job.steps?.steps.map(({ step, failures, failures_pct }) => [step, failures, failures_pct]),
      [
        ['1', 0, 0],
        ['2', 0, 0],
        ['3', 0, 0],
        ['4', 3, 100],
      ],
    );
    assert.deepEqual(job.steps?.steps[3]?.failure_types, [{ type: 'no_results', count: 3 }]);
    assert.deepEqual([job.steps?.failures_elsewhere, job.warnings], [0, []]);
    const item = await engine.ledger.item(job.job_id, 'none-1');
    const failed = item?.attempts.at(-1)?.failure;
    assert.match(
      failed?.message ?? '',
      /^step 4, read the text of #owner as owner: #owner did not match; the page says "No records found" \(http/,
    );
    assert.deepEqual(failed?.step, { path: '4', label: 'read the text of #owner as owner' });
    const kept = item?.artifacts.map(({ kind: of }) => of) ?? [];
    assert.ok(kept.includes('failed_page'), kept.join());
    assert.equal(kept.includes('screenshot'), kind === 'browser');
  });

  test(`${kind}: a button with another id than yesterday is found by its text: no item fails, and the job reports it`, async () => {
    county.buttonId = 'ctl00_search';
    const job = await run(`${kind}-after`, scraper, ['1', '2', '3', '4', '5', '6']);
    county.buttonId = 'btnGo';
    assert.deepEqual([job.summary.success, job.summary.failed], [6, 0]);
    const message =
      'step 3, click #btnGo: the first selector (#btnGo) matched nothing in 6 of 6 items; the second (text/Search) did';
    assert.deepEqual(job.warnings, [{ path: 'steps.3', code: 'selector_drift', message }]);
    const click = job.steps?.steps[2];
    assert.equal(click?.drift, message);
    assert.deepEqual(click?.selectors, [
      { selector: '#btnGo', matched: 0 },
      { selector: 'text/Search', matched: 6 },
    ]);
    assert.ok(click.duration_ms !== null && click.duration_ms.p50 <= click.duration_ms.max);
  });
}
