import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { startTrawl } from '../cli/trawl.ts';
import { sized } from '../support/sized.ts';

/** A site that notes when each request of which job came. */
export async function openCountingSite(answerMs: number) {
  const requests: { readonly at: number; readonly job: string }[] = [];
  const server = createServer((request, response) => {
    requests.push({ at: performance.now(), job: request.url?.split('/')[1] ?? '' });
    void setTimeout(answerMs).then(() => {
      response.setHeader('content-type', 'text/html');
      response.end('<html><head><title>A parcel</title></head><body>One of many parcels of this county</body></html>');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    host: `127.0.0.1:${port}`,
    requests,
    async close() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

type Site = Awaited<ReturnType<typeof openCountingSite>>;

export interface Traffic {
  /** Requests in the busiest ten seconds. */
  readonly busiest: number;
  /** Requests per second while no worker came or went. */
  readonly perSecond: readonly number[];
  /** Share of the first job in the requests sent while no worker came or went. */
  readonly share: number;
  readonly seconds: number;
  /** How long after the answer to a change of the job's policy its requests were still at the old pace. */
  readonly policyMs: number;
  /** How long after the answer to a pause of the host the last request began. */
  readonly pauseMs: number;
}

interface Timing {
  readonly workers: number;
  readonly perSecond: number;
  readonly calmMs: number;
  readonly settleMs: number;
  /** After so long every worker knows what was set for a host. */
  readonly heardMs: number;
}

/**
 * Two jobs on one host with a rate, and worker processes, of which one is killed and replaced on the way. `calmMs` is
 * how long each of the two calm stretches is that are measured.
 */
export async function playTwoJobs(
  env: Readonly<Record<string, string>>,
  site: Site,
  { workers: started, perSecond, calmMs, settleMs, heardMs }: Timing,
): Promise<Traffic> {
  const controller = startTrawl(['controller', '--port', '0'], env);
  const [, url = ''] = await controller.shows(/"url":"([^"]+)"/);
  const workers = Array.from({ length: started }, () => startTrawl(['worker'], env));
  try {
    await Promise.all(workers.map((worker) => worker.shows(/"working"/)));
    await send('PUT', `${url}/hosts/${site.host}`, { requests_per_second: perSecond, max_concurrent_requests: 50 });
    await setTimeout(heardMs);
    for (const job of ['a', 'b']) await submit(url, job, site.host);
    await untilSeen(site, 3 * perSecond);
    await setTimeout(settleMs);
    const first = await measure(site, calmMs);
    workers[0]?.signalGroup('SIGKILL');
    const added = startTrawl(['worker'], env);
    workers.push(added);
    await added.shows(/"working"/);
    await setTimeout(settleMs);
    const second = await measure(site, calmMs);
    const calm = [...first.seen, ...second.seen];
    const seconds = ((site.requests.at(-1)?.at ?? 0) - (site.requests[0]?.at ?? 0)) / 1000;
    const changes = await playChanges(url, site, heardMs);
    return {
      busiest: busiestTen(site),
      perSecond: [first.seen.length / first.seconds, second.seen.length / second.seconds],
      share: calm.filter(({ job }) => job === 'a').length / calm.length,
      seconds,
      ...changes,
    };
  } finally {
    for (const process of [controller, ...workers]) process.signalGroup('SIGKILL');
    await Promise.all([controller, ...workers].map(({ ended }) => ended));
  }
}

/** One job is slowed down to a request every five seconds, then the host is paused. */
async function playChanges(url: string, site: Site, heardMs: number): Promise<Pick<Traffic, 'policyMs' | 'pauseMs'>> {
  const throttling = { max_requests_per_second: 0.2 };
  await send('PATCH', `${url}/jobs/a`, { execution_policy: { throttling } });
  const slowedAt = performance.now();
  await untilCalm(site, 'a');
  const late = requestsSince(site, slowedAt, 'a');
  // At the new pace one request follows another after seconds.
  const atOldPace = late.filter((at, index) => at - (late[index - 1] ?? slowedAt) < CALM_AFTER_MS);

  const paused_until = new Date(Date.now() + 3_600_000).toISOString();
  await send('PUT', `${url}/hosts/${site.host}`, { requests_per_second: 20, paused_until });
  const pausedAt = performance.now();
  await untilCalm(site, null);
  await setTimeout(heardMs);
  return {
    policyMs: Math.round((atOldPace.at(-1) ?? slowedAt) - slowedAt),
    pauseMs: Math.round((requestsSince(site, pausedAt, null).at(-1) ?? pausedAt) - pausedAt),
  };
}

/** Between two requests at the new pace is more time than this, between two at the old one much less. */
const CALM_AFTER_MS = 2500;

async function untilCalm(site: Site, job: string | null): Promise<void> {
  const changedAt = performance.now();
  for (;;) {
    const last = requestsSince(site, changedAt, job).at(-1) ?? changedAt;
    if (performance.now() - last >= CALM_AFTER_MS) return;
    await setTimeout(100);
  }
}

function requestsSince({ requests }: Site, from: number, job: string | null): readonly number[] {
  return requests.filter((each) => each.at >= from && (job === null || each.job === job)).map(({ at }) => at);
}

async function measure(site: Site, ms: number) {
  const from = performance.now();
  await setTimeout(ms);
  const to = performance.now();
  const seen = site.requests.filter(({ at }) => at >= from && at < to);
  return { seen, seconds: (to - from) / 1000 };
}

function busiestTen({ requests }: Site): number {
  let most = 0;
  for (let first = 0, last = 0; last < requests.length; last += 1) {
    while ((requests[last]?.at ?? 0) - (requests[first]?.at ?? 0) >= 10_000) first += 1;
    most = Math.max(most, last - first + 1);
  }
  return most;
}

/** More than are done while the two jobs are watched, at ten requests per second each. */
const ITEMS = sized({ quick: 1200, slow: 5000 });

async function submit(url: string, job: string, host: string): Promise<void> {
  const items = Array.from({ length: ITEMS }, (_, index) => ({
    item_id: `parcel-${index}`,
    input: { url: `http://${host}/${job}/${index}` },
  }));
  await send('POST', `${url}/jobs`, {
    job_id: job,
    scraper_id: 'example-http',
    items,
    execution_policy: {
      throttling: { max_concurrent_workers: 24, adaptive: false },
      circuit_breaker: { min_requests: 1000 },
    },
  });
}

async function untilSeen(site: Site, requests: number): Promise<void> {
  while (site.requests.length < requests) await setTimeout(50);
}

async function send(method: string, url: string, body: unknown): Promise<void> {
  const answer = await fetch(url, {
    method,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  assert.ok(answer.ok, `${method} ${url}: ${answer.status} ${await answer.text()}`);
}
