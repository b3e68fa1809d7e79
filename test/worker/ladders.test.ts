import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { z } from 'zod';
import { failure } from '../../src/domain/failure.ts';
import { policySchema } from '../../src/domain/policy.ts';
import type { Dialer } from '../../src/egress/dialer.ts';
import { NO_FAULTS } from '../../src/ports/faults.ts';
import { OPEN_GATE } from '../../src/ports/host-gate.ts';
import { defineHttpScraper } from '../../src/scraping/http/define-http-scraper.ts';
import type { ScrapeContext, Scraper, ScrapeTools } from '../../src/scraping/scraper.ts';
import { runAttempt } from '../../src/worker/attempt.ts';
import { Deadlines } from '../../src/worker/deadlines.ts';
import { FailureEvidence } from '../../src/worker/failure-evidence.ts';
import { JobLadders } from '../../src/worker/job-ladders.ts';
import { loopbackWeb } from '../egress/visits.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { openMemoryResultStore } from '../support/memory/result-store.ts';
import { NO_TOOLS } from '../support/no-tools.ts';

type Scrape = (context: ScrapeContext) => Promise<unknown>;

/** Attempts at items of one job by one process. */
function openJob(proxy: unknown, tools: ScrapeTools = NO_TOOLS) {
  const ladders = new JobLadders();
  let policyRevision = 1;
  const attempt = async (scrape: Scrape) => {
    const clock = new FakeClock();
    const scraper = { id: 's', version: '1', metadata: false, scrape } as unknown as Scraper;
    const policy = policySchema.parse({ proxy });
    const order = { isHalted: false, excess: 0, jobCreatedAt: 1, scraperId: 's', policy, policyRevision };
    const running = runAttempt(
      {
        ...{ clock, store: openMemoryResultStore(), faults: NO_FAULTS, digest: (text: string) => text },
        ...{
          tools,
          ladders,
          evidence: new FailureEvidence(),
          deadlines: new Deadlines(clock),
          onWait() {},
          onSteps() {},
        },
      },
      { jobId: 'job', order, scraper },
      { seq: 1, itemId: 'item', input: {}, attempt: 1 },
      new AbortController().signal,
    );
    let isOver = false;
    void running.finally(() => {
      isOver = true;
    });
    while (!isOver) await clock.advance(100);
    return running;
  };
  return {
    attempt,
    changePolicy: () => {
      policyRevision += 1;
    },
  };
}

/** A site that lets in only those who come through one of these. */
function siteFor(seen: string[], ...admitted: readonly string[]): Scrape {
  return async ({ proxyType }) => {
    seen.push(proxyType);
    return admitted.includes(proxyType)
      ? { kind: 'scraped', artifacts: [] }
      : { kind: 'failed', failure: failure('blocked', 'no') };
  };
}

test('an item that is blocked climbs its ladder, and stays on the last step', async () => {
  const { attempt } = openJob({ escalate: ['none', 'datacenter', 'residential'] });
  const seen: string[] = [];
  await attempt(siteFor(seen, 'residential'));
  assert.deepEqual(seen, ['none', 'datacenter', 'residential']);
  await attempt(siteFor(seen));
  assert.deepEqual(seen.slice(3), ['none', 'datacenter', 'residential', 'residential']);
});

test('nothing but a block makes an item climb', async () => {
  const { attempt } = openJob({ escalate: ['datacenter'] });
  const seen: string[] = [];
  const ends = ['timeout', 'proxy_error', 'rate_limited'] as const;
  await attempt(async ({ proxyType, tryNumber }) => {
    seen.push(proxyType);
    return { kind: 'failed', failure: failure(ends[tryNumber - 1] ?? 'not_found', 'no') };
  });
  assert.deepEqual(seen, ['none', 'none', 'none', 'none']);
});

test('when most items climb, the job starts higher, and starts over when its policy changes', async () => {
  const { attempt, changePolicy } = openJob({ escalate: ['datacenter', 'residential'] });
  const seen: string[] = [];
  for (let item = 0; item < 10; item += 1) await attempt(siteFor(seen, 'datacenter'));
  assert.equal(seen.length, 20);
  await attempt(siteFor(seen, 'datacenter'));
  assert.deepEqual(seen.slice(20), ['datacenter']);
  changePolicy();
  await attempt(siteFor(seen, 'datacenter'));
  assert.deepEqual(seen.slice(21), ['none', 'datacenter']);
});

/** Three requests of an item, and the sessions and places that the dialer saw. */
async function sessionsOf(t: TestContext, proxy: object): Promise<readonly string[]> {
  const sessions: string[] = [];
  const dialer: Dialer = {
    connectionKey: ({ session }) => session,
    async dial({ session, geo }) {
      sessions.push(`${session} ${geo?.state ?? ''}`);
      return { kind: 'failed', failure: failure('not_found', 'no') };
    },
  };
  const web = loopbackWeb({ dialers: { residential: dialer } });
  t.after(() => web.close());
  const { attempt } = openJob(proxy, { ...NO_TOOLS, web, gate: OPEN_GATE });
  const scraper = defineHttpScraper({
    ...{ id: 's', name: '', version: '1', description: '', input: z.unknown(), hosts: [] },
    async scrape({ http }) {
      for (const path of ['a', 'b', 'c']) await http.get(`http://127.0.0.1/${path}`).catch(() => null);
      return { html: 'done' };
    },
  });
  await attempt((context) => scraper.scrape(context));
  return sessions;
}

test('all requests of an item have one session and its place, and with rotate each has its own', async (t) => {
  const geo_target = { state: 'az' };
  assert.deepEqual(await sessionsOf(t, { type: 'residential', geo_target }), Array(3).fill('job/item/0 az'));
  assert.deepEqual(
    await sessionsOf(t, { type: 'residential', session: 'rotate' }),
    [1, 2, 3].map((request) => `job/item/0/${request} `),
  );
});
