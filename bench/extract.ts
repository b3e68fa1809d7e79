import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { apnOf } from '../demo/apn.ts';
import { startServe } from './api/service.ts';
import { startCounty } from './http/county.ts';

const SCRAPER = 'demo-county';
const OLD = 'scraped';
const NEW = 'extracted';

/**
 * Pages of the demo county, scraped by the scraper that a user would write (disclaimer, search form, detail page, bill), and
 * then read again from the disk: both from the request that makes the job to its completion. The county counts requests.
 */
export async function benchExtract(size: { items: number; workers: number }, say: (line: string) => void) {
  const dataDir = mkdtempSync(join(tmpdir(), 'trawl-bench-'));
  await using county = await startCounty();
  const service = await startServe(dataDir, {
    workers: size.workers,
    slots: 64,
    env: {
      TRAWL_ALLOW_ADDRESSES: 'loopback',
      TRAWL_ROUTES: `http://demo-county.test=${county.url}`,
      TRAWL_HOST_CONCURRENCY: '64',
    },
  });
  try {
    const apns = Array.from({ length: size.items }, (_, index) => apnOf(index));
    await call(service.url, 'POST', '/jobs', {
      job_id: OLD,
      scraper_id: SCRAPER,
      hold: true,
      execution_policy: { throttling: { max_concurrent_workers: 64 } },
    });
    await send(service.url, apns);
    const scrapeBegun = performance.now();
    await call(service.url, 'POST', `/jobs/${OLD}/start`);
    await untilOver(service.url, OLD);
    const scrapeSeconds = (performance.now() - scrapeBegun) / 1000;
    const scraped = await succeeded(service.url, OLD);
    const requests = await county.requests();
    say(`scraped ${scraped} pages in ${scrapeSeconds.toFixed(1)} s with ${requests} requests`);

    const extractBegun = performance.now();
    await call(service.url, 'POST', `/jobs/${OLD}/extract`, { job_id: NEW });
    await untilOver(service.url, NEW);
    const extractSeconds = (performance.now() - extractBegun) / 1000;
    const extracted = await succeeded(service.url, NEW);
    return {
      scraper: SCRAPER,
      pages: scraped,
      extracted,
      scrape_seconds: Math.round(scrapeSeconds * 10) / 10,
      extract_seconds: Math.round(extractSeconds * 10) / 10,
      times_as_fast: Math.round((scrapeSeconds / extractSeconds) * 100) / 100,
      requests_of_scrape: requests,
      requests_of_extraction: (await county.requests()) - requests,
    };
  } finally {
    await service.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

async function send(url: string, apns: readonly string[]): Promise<void> {
  const body = apns.map((apn) => `${JSON.stringify({ item_id: apn, input: { apn } })}\n`).join('');
  const response = await fetch(`${url}/jobs/${OLD}/items`, {
    method: 'POST',
    headers: { 'content-type': 'application/x-ndjson' },
    body,
  });
  const answer = (await response.json()) as { added: number };
  if (answer.added !== apns.length) throw new Error(`not every item was added: ${JSON.stringify(answer)}`);
}

/** The stream of events ends with the job. */
async function untilOver(url: string, jobId: string): Promise<void> {
  const response = await fetch(`${url}/jobs/${jobId}/events`);
  for await (const _ of response.body ?? []);
}

async function succeeded(url: string, jobId: string): Promise<number> {
  const { status, summary } = (await call(url, 'GET', `/jobs/${jobId}/status`)) as {
    status: string;
    summary: { success: number; total: number };
  };
  if (status !== 'completed' || summary.success !== summary.total) throw new Error(JSON.stringify({ status, summary }));
  return summary.success;
}

async function call(url: string, method: string, path: string, body?: object): Promise<unknown> {
  const response = await fetch(url + path, {
    method,
    ...(body === undefined ? {} : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  return JSON.parse(text);
}
