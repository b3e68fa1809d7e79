import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { type FailureType, failure } from '../../src/domain/failure.ts';
import { policySchema } from '../../src/domain/policy.ts';
import { SecretBook } from '../../src/domain/secrets.ts';
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

const ITEM = { seq: 0, itemId: 'item', input: {}, attempt: 1 };

/** Runs one attempt of a scraper that does `scrape`; time passes in steps until it is over. */
async function attempt(
  scrape: (context: ScrapeContext) => Promise<unknown>,
  options: {
    policy?: unknown;
    signal?: AbortSignal;
    version?: string;
    unusable?: string;
    metadata?: boolean;
    tools?: ScrapeTools;
  } = {},
) {
  const clock = new FakeClock();
  const store = openMemoryResultStore();
  const waits: unknown[] = [];
  const version = options.version ?? '1';
  const { metadata = false } = options;
  const usable = { id: 's', name: '', version, description: '', lane: 'http', metadata, scrape } as unknown as Scraper;
  const scraper = options.unusable === undefined ? usable : { unusable: options.unusable };
  const order = {
    isHalted: false,
    excess: 0,
    jobCreatedAt: 1,
    scraperId: 's',
    policy: policySchema.parse(options.policy ?? {}),
    policyRevision: 1,
  };
  const ladders = new JobLadders();
  const running = runAttempt(
    {
      ...{ clock, store, faults: NO_FAULTS, digest: (text: string) => text, tools: options.tools ?? NO_TOOLS },
      ladders,
      evidence: new FailureEvidence(),
      deadlines: new Deadlines(clock),
      onWait: (...wait) => waits.push(wait),
      onSteps() {},
    },
    { jobId: 'job', order, scraper },
    ITEM,
    options.signal ?? new AbortController().signal,
  );
  let isOver = false;
  void running.finally(() => {
    isOver = true;
  });
  for (let step = 0; step < 10_000 && !isOver; step += 1) await clock.advance(100);
  const result = await running;
  assert.ok(typeof result === 'string' || 'outcome' in result, 'the item goes back because of its host');
  return { result, store, waits };
}

async function failed(scrape: (context: ScrapeContext) => Promise<unknown>, policy?: unknown) {
  const { result } = await attempt(scrape, { policy });
  assert.ok(result !== 'aborted' && result.outcome.kind === 'failed');
  return { failure: result.outcome.failure, tries: result.tries, durationMs: result.durationMs };
}

test('a failure worth retrying is tried again as the policy says, and the final outcome is reported', async () => {
  const seen: string[] = [];
  const { result } = await attempt(async ({ tryNumber, identity }) => {
    seen.push(`${tryNumber} ${identity}`);
    return tryNumber < 3
      ? { kind: 'failed', failure: failure('blocked', 'captcha') }
      : { kind: 'scraped', artifacts: [] };
  });
  assert.ok(result !== 'aborted');
  assert.equal(result.outcome.kind, 'scraped');
  assert.equal(result.tries, 3);
  assert.deepEqual(seen, ['1 0', '2 1', '3 2']);
});

/** One attempt whose tries fail like this, one after another. */
async function failingAs(types: readonly FailureType[], options: { tools?: ScrapeTools } = {}) {
  const { result, store } = await attempt(
    async ({ tryNumber }) => {
      const type = types[tryNumber - 1];
      if (type === undefined) return { kind: 'scraped', artifacts: [] };
      const page = { ...PAGE, bytes: Buffer.from(`page of try ${tryNumber}`) };
      return {
        kind: 'failed',
        failure: failure(type, `try ${tryNumber} with hunter2`, { retryAfterMs: 2000 }),
        artifacts: [page],
        facts: { of: tryNumber },
      };
    },
    { metadata: true, ...options },
  );
  assert.ok(result !== 'aborted');
  const text = async (name: string) => Buffer.from((await store.get(`job/items/item/${name}`)) ?? []).toString();
  return { settled: result, text };
}

test('the most telling try names the failure, and what is kept is of that try', async () => {
  const { settled, text } = await failingAs(['timeout', 'navigation_failed', 'navigation_failed', 'rate_limited']);
  assert.ok(settled.outcome.kind === 'failed');
  const { type, message } = settled.outcome.failure;
  assert.deepEqual([type, message, settled.tries], ['navigation_failed', 'try 3 with hunter2', 4]);
  assert.equal(await text('html.html'), 'page of try 3');
  assert.partialDeepStrictEqual(JSON.parse(await text('metadata.json')), { of: 3, tries: 4, error: { type } });
});

test('each failed try is reported with its error, its time and the wait after it', async () => {
  const { settled } = await failingAs(['timeout', 'navigation_failed', 'navigation_failed', 'rate_limited']);
  const { failedTries = [], startedAt } = settled;
  assert.deepEqual(
    failedTries.map(({ number, type, message }) => [number, type, message]),
    [
      [1, 'timeout', 'try 1 with hunter2'],
      [2, 'navigation_failed', 'try 2 with hunter2'],
      [3, 'navigation_failed', 'try 3 with hunter2'],
      [4, 'rate_limited', 'try 4 with hunter2'],
    ],
  );
  const waits = failedTries.map(({ waitMs }) => waitMs);
  assert.equal(waits.at(-1), null);
  for (const wait of waits.slice(0, -1)) assert.ok(wait !== null && wait >= 2000, `${wait}`);
  const [first = 0, ...later] = failedTries.map(({ at }) => at);
  assert.equal(first, startedAt);
  for (const [index, at] of later.entries()) assert.ok(at >= first + 2000 * (index + 1), `${at}`);
});

test('a success lists the tries that failed before it, and an attempt with one try lists none', async () => {
  const { settled: late } = await failingAs(['blocked']);
  assert.deepEqual([late.outcome.kind, late.failedTries?.map(({ type }) => type)], ['scraped', ['blocked']]);
  assert.ok(!('failedTries' in (await failingAs([])).settled));
  assert.ok(!('failedTries' in (await failingAs(['not_found'])).settled));
});

test('a wait for another try is reported, and the last failure is followed by none', async () => {
  const types = ['timeout', 'rate_limited', 'not_found'] as const;
  const { waits } = await attempt(
    async ({ tryNumber }) => {
      return { kind: 'failed', failure: failure(types[tryNumber - 1] ?? 'unexpected', 'no', { retryAfterMs: 7000 }) };
    },
    { policy: { retries: { max_backoff_seconds: 5 } } },
  );
  assert.deepEqual(waits, [
    ['job', 'timeout', 7000],
    ['job', 'rate_limited', 7000],
  ]);
});

test('secrets are masked in failed tries', async () => {
  const secrets = new SecretBook(new Map([['password', 'hunter2']]));
  const { settled } = await failingAs(['timeout'], { tools: { ...NO_TOOLS, secrets } });
  assert.ok(!JSON.stringify(settled).includes('hunter2'), JSON.stringify(settled));
  assert.match(settled.failedTries?.[0]?.message ?? '', /^try 1 with /);
});

test('a scraper knows whether another try would follow: by the failure, the tries and the time that are left', async () => {
  const asked: boolean[][] = [];
  const timeout = failure('timeout', 'slow');
  const scrape = async ({ isRetried }: ScrapeContext) => {
    const soon = failure('rate_limited', 'wait', { retryAfterMs: 5000 });
    const late = failure('rate_limited', 'wait', { retryAfterMs: 100_000 });
    asked.push([isRetried(timeout), isRetried(failure('not_found', 'gone')), isRetried(soon), isRetried(late)]);
    return { kind: 'failed', failure: timeout };
  };
  await attempt(scrape, { policy: { retries: { max_retries: 1 }, timeouts: { item_timeout_seconds: 60 } } });
  assert.deepEqual(asked, [
    [true, false, true, false],
    [false, false, false, false],
  ]);
});

test('a site that refused us sees another visitor, a proxy that failed is left for another session, and else both stay', async () => {
  const seen: string[] = [];
  const failures = ['timeout', 'blocked', 'proxy_error', 'server_error', 'blocked'] as const;
  await attempt(
    async ({ tryNumber, identity, proxySession }) => {
      seen.push(`${identity} ${proxySession}`);
      const type = failures[tryNumber - 1];
      return type === undefined ? { kind: 'scraped', artifacts: [] } : { kind: 'failed', failure: failure(type, 'no') };
    },
    { policy: { retries: { max_retries: 5 } } },
  );
  assert.deepEqual(seen, ['0 0', '0 0', '1 1', '1 2', '1 2', '2 3']);
});

test('a proxy that fails costs an item none of its retries, and one that stays broken fails it as proxy_error', async () => {
  const failures = ['proxy_error', 'proxy_error', 'timeout', 'proxy_error'] as const;
  let tries = 0;
  const { result: saved } = await attempt(
    async ({ tryNumber }) => {
      tries = tryNumber;
      const type = failures[tryNumber - 1];
      return type === undefined ? { kind: 'scraped', artifacts: [] } : { kind: 'failed', failure: failure(type, 'no') };
    },
    { policy: { retries: { max_retries: 1 } } },
  );
  assert.ok(saved !== 'aborted');
  assert.deepEqual([tries, saved.outcome.kind], [5, 'scraped']);

  const { result: broken } = await attempt(
    async ({ tryNumber }) => {
      tries = tryNumber;
      return { kind: 'failed', failure: failure(tryNumber === 1 ? 'timeout' : 'proxy_error', 'no') };
    },
    { policy: { retries: { max_retries: 20 } } },
  );
  assert.ok(broken !== 'aborted');
  const { outcome } = broken;
  assert.deepEqual([tries, outcome.kind === 'failed' && outcome.failure.type], [7, 'proxy_error']);
});

test('after a block and after a failure of the proxy, the dialer of the next try sees another session', async (t) => {
  const sessions: string[] = [];
  const ends = ['proxy_error', 'blocked'] as const;
  const dialer: Dialer = {
    connectionKey: ({ session }) => session,
    async dial({ session }) {
      sessions.push(session);
      return { kind: 'failed', failure: failure(ends[sessions.length - 1] ?? 'not_found', 'no') };
    },
  };
  const web = loopbackWeb({ dialers: { datacenter: dialer } });
  t.after(() => web.close());
  const scraper = defineHttpScraper({
    ...{ id: 's', name: '', version: '1', description: '', input: z.unknown(), hosts: [] },
    scrape: async ({ http }) => ({ html: await http.get('http://127.0.0.1/') }),
  });
  const tools = { ...NO_TOOLS, web, gate: OPEN_GATE };
  const policy = { proxy: { type: 'datacenter' } };
  const { result } = await attempt((context) => scraper.scrape(context), { policy, tools });
  assert.ok(result !== 'aborted' && result.tries === 3);
  assert.deepEqual(sessions, ['job/item/0', 'job/item/1', 'job/item/2']);
});

test('whatever it ends with, an attempt says which version of the scraper was run', async () => {
  const versionOf = async (scrape: () => Promise<unknown>, options: Parameters<typeof attempt>[1]) => {
    const { result } = await attempt(scrape, options);
    assert.ok(result !== 'aborted');
    return 'scraperVersion' in result ? result.scraperVersion : 'none';
  };
  const scraped = async () => ({ kind: 'scraped', artifacts: [] });
  const gone = async () => ({ kind: 'failed', failure: failure('not_found', 'gone') });
  assert.equal(await versionOf(scraped, { version: '2.1.0' }), '2.1.0');
  assert.equal(await versionOf(gone, { version: '2.1.0' }), '2.1.0');
  // No owner of a ledger would take a longer one, and the item would come back for ever.
  assert.equal(await versionOf(scraped, { version: '7'.repeat(200) }), '7'.repeat(100));
  assert.equal(await versionOf(scraped, { unusable: 'there is no scraper s' }), 'none');
});

test('what a scraper throws is unexpected, and keeps its cause', async () => {
  const { failure: seen, tries } = await failed(async () => {
    throw new TypeError('undefined is not a function');
  });
  assert.equal(seen.type, 'unexpected');
  assert.match(seen.cause ?? '', /TypeError: undefined is not a function/);
  assert.equal(tries, 4);
});

test('a scraper that never returns loses its slot when the item has used up its time', async () => {
  let wasTold = false;
  const never = ({ signal }: ScrapeContext) => {
    signal.addEventListener('abort', () => {
      wasTold = true;
    });
    return new Promise(() => {});
  };
  const { failure: seen, durationMs } = await failed(never, { timeouts: { item_timeout_seconds: 7 } });
  assert.equal(seen.type, 'timeout');
  assert.ok(durationMs >= 7000 && durationMs < 7500, `after ${durationMs} ms`);
  assert.ok(wasTold);
});

test('an attempt that is taken away ends at once, and is not a failure', async () => {
  const taken = new AbortController();
  const { result } = await attempt(
    () => {
      taken.abort();
      return new Promise(() => {});
    },
    { signal: taken.signal },
  );
  assert.equal(result, 'aborted');
});

test('bytes are kept before the outcome is reported, large pages packed, under a key of this attempt', async () => {
  const bytes = new Uint8Array(5000).fill(65);
  const { result, store } = await attempt(async () => ({
    kind: 'scraped',
    artifacts: [{ kind: 'html', bytes, contentType: 'text/html', extension: 'html' }],
  }));
  assert.ok(result !== 'aborted' && result.outcome.kind === 'scraped');
  const [artifact] = result.outcome.artifacts;
  assert.deepEqual([artifact?.key, artifact?.encoding, artifact?.size], ['job/items/item/html.html', 'gzip', 5000]);
  assert.deepEqual(await store.get('job/items/item/html.html'), bytes);
});

const PAGE = { kind: 'html', bytes: Buffer.from('<p>'), contentType: 'text/html', extension: 'html' } as const;

test('what a failed attempt fetched is kept before the failure is reported', async () => {
  const { result, store } = await attempt(async () => ({
    kind: 'failed',
    failure: failure('structure_changed', 'nothing matches #owner'),
    artifacts: [PAGE],
  }));
  assert.ok(result !== 'aborted' && result.outcome.kind === 'failed');
  assert.deepEqual(
    result.outcome.artifacts?.map(({ kind, key, size }) => [kind, key, size]),
    [['html', 'job/items/item/html.html', 3]],
  );
  assert.equal(Buffer.from((await store.get('job/items/item/html.html')) ?? []).toString(), '<p>');
});

test('a failure keeps its own words when what comes with it cannot be kept', async () => {
  const { result } = await attempt(async () => ({
    kind: 'failed',
    failure: failure('structure_changed', 'nothing matches #owner'),
    artifacts: [{ kind: 'html', bytes: 'text' }],
  }));
  assert.ok(result !== 'aborted' && result.outcome.kind === 'failed');
  assert.deepEqual([result.outcome.failure.type, result.outcome.artifacts], ['structure_changed', undefined]);
});

test('an item that was passed over keeps what there is of it, and one with nothing leaves nothing', async () => {
  const cached = { kind: 'skipped', reason: 'cached', artifacts: [PAGE], facts: { url: 'x:/1' } };
  const { result, store } = await attempt(async () => cached, { metadata: true });
  assert.ok(result !== 'aborted' && result.outcome.kind === 'skipped');
  assert.deepEqual(
    [result.outcome.reason, result.outcome.artifacts?.map(({ key }) => key)],
    ['cached', ['job/items/item/html.html', 'job/items/item/metadata.json']],
  );
  assert.equal(Buffer.from((await store.get('job/items/item/html.html')) ?? []).toString(), '<p>');
  const metadata = JSON.parse(Buffer.from((await store.get('job/items/item/metadata.json')) ?? []).toString());
  assert.partialDeepStrictEqual(metadata, { url: 'x:/1', tries: 1, error: null });
  const empty = await attempt(async () => ({ kind: 'skipped', reason: 'known-bad' }), { metadata: true });
  assert.ok(empty.result !== 'aborted');
  assert.deepEqual(empty.result.outcome, { kind: 'skipped', reason: 'known-bad' });
});

test('every attempt leaves metadata: the item, the times and the tries, what the scraper reports, and why it failed', async () => {
  const metadataOf = async (scrape: (context: ScrapeContext) => Promise<unknown>) => {
    const { result, store } = await attempt(scrape, { metadata: true, version: '1.2.3' });
    assert.ok(result !== 'aborted' && result.outcome.kind !== 'skipped');
    const kinds = result.outcome.artifacts?.map(({ kind }) => kind);
    const bytes = await store.get('job/items/item/metadata.json');
    return { kinds, metadata: JSON.parse(Buffer.from(bytes ?? []).toString()) };
  };
  const data = { ...PAGE, kind: 'document', extension: 'pdf' };
  const good = await metadataOf(async () => ({ kind: 'scraped', artifacts: [data, PAGE], facts: { url: 'x:/1' } }));
  assert.deepEqual(good.kinds, ['html', 'metadata', 'document']);
  const { started_at: started, ended_at: ended, ...rest } = good.metadata;
  assert.ok(Date.parse(started) <= Date.parse(ended));
  assert.deepEqual(rest, {
    ...{ job_id: 'job', item_id: 'item', scraper_id: 's', scraper_version: '1.2.3', input: {} },
    ...{ url: 'x:/1', attempt: 1, tries: 1, error: null },
  });
  const nothing = await metadataOf(async () => ({ kind: 'scraped', artifacts: [] }));
  assert.deepEqual(nothing.kinds, ['metadata']);
  const bad = await metadataOf(async () => ({ kind: 'failed', failure: failure('timeout', 'slow') }));
  assert.deepEqual(bad.kinds, ['metadata']);
  assert.equal(bad.metadata.tries, 4);
  assert.deepEqual(bad.metadata.error, { type: 'timeout', message: 'slow', retryable: true, cause: null });
  const own = await attempt(async () => ({ kind: 'scraped', artifacts: [{ ...PAGE, kind: 'metadata' }] }), {
    metadata: true,
  });
  assert.equal(Buffer.from((await own.store.get('job/items/item/metadata.html')) ?? []).toString(), '<p>');
});

for (const [what, returned] of Object.entries({
  nothing: undefined,
  'a page': '<html>',
  'an unknown kind': { kind: 'done' },
  'artifacts that are none': { kind: 'scraped', artifacts: [{ kind: 'html', bytes: 'text' }] },
  'two artifacts of one kind': {
    kind: 'scraped',
    artifacts: Array(2).fill({ kind: 'data', bytes: new Uint8Array(), contentType: 'x', extension: 'json' }),
  },
  'a failure of its own invention': { kind: 'failed', failure: { type: 'toString', message: 'no' } },
  'a failure without a message': { kind: 'failed', failure: { type: 'timeout' } },
  'a skip without a reason': { kind: 'skipped' },
  'a skip with artifacts that are none': { kind: 'skipped', reason: 'cached', artifacts: [{ kind: 'html' }] },
})) {
  test(`a scraper that returns ${what} has a bug, and the item says so`, async () => {
    const { failure: seen } = await failed(async () => returned, { retries: { max_retries: 0 } });
    assert.equal(seen.type, 'unexpected');
    assert.match(seen.message, /^the scraper .* which is not a result$/);
  });
}

test('documents that a try has opened and not handed over are thrown away, and after it there is no room for more', async () => {
  const contexts: ScrapeContext[] = [];
  const { result, store } = await attempt(async (context) => {
    contexts.push(context);
    const kept = context.draft();
    const left = context.draft();
    await kept.write(new TextEncoder().encode('%PDF-'));
    await left.write(new Uint8Array(10));
    if (context.tryNumber === 1) return { kind: 'failed', failure: failure('timeout', 'slow') };
    const artifact = { kind: 'document', bytes: kept, contentType: 'application/pdf', extension: 'pdf' };
    return { kind: 'scraped', artifacts: [artifact] };
  });
  assert.ok(result !== 'aborted' && result.outcome.kind === 'scraped');
  assert.deepEqual(
    result.outcome.artifacts.map(({ key, size }) => [key, size]),
    [['job/items/item/document.pdf', 5]],
  );
  assert.equal(Buffer.from((await store.get('job/items/item/document.pdf')) ?? []).toString(), '%PDF-');
  for (const context of contexts) assert.throws(() => context.draft(), /the try is over/);
});

test('a scraper that waits in a loop and is abandoned does not keep the others from running', async () => {
  let rounds = 0;
  const { failure: seen } = await failed(
    async ({ sleep }) => {
      for (;;) {
        rounds += 1;
        await sleep(500);
      }
    },
    { timeouts: { item_timeout_seconds: 2 }, retries: { max_retries: 0 } },
  );
  assert.equal(seen.type, 'timeout');
  assert.equal(rounds, 4);
});

test('what an item waits for others is not taken from its time, in any of its tries', async () => {
  const left = (context: ScrapeContext) => context.isRetried(failure('timeout', '', { retryAfterMs: 5000 }));
  const seen: boolean[] = [];
  const { result } = await attempt(
    async (context) => {
      await context.waitUncounted(() => context.sleep(60_000));
      seen.push(left(context));
      if (context.tryNumber === 1) return { kind: 'failed', failure: failure('timeout', 'once') };
      return { kind: 'scraped', artifacts: [] };
    },
    { policy: { timeouts: { item_timeout_seconds: 30 } } },
  );
  assert.ok(result !== 'aborted' && result.outcome.kind === 'scraped');
  assert.ok(result.durationMs >= 120_000, 'the duration is what the user has waited');
  assert.deepEqual(seen, [true, true]);
});
