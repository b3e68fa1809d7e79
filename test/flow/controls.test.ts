import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { MAX_INLINE_ITEMS } from '../../src/controller/jobs/parse-new-job.ts';
import { inFlightOf } from '../../src/domain/counts.ts';
import type { JobRecord } from '../../src/domain/job.ts';
import { totalUsage } from '../../src/domain/usage.ts';
import type { Engine } from '../../src/main/engine.ts';
import { exists, type ForgetfulSite, startForgetfulSite } from '../models/forgetful-site.ts';
import { sized } from '../support/sized.ts';
import { itemsOf, submit, tempDataDir, untilFinished, untilJob, withEngine } from './engine.ts';

const EVERY = sized({ quick: 40, slow: 100 });
const BREAKS_AT = 5 * EVERY;
const ITEMS = sized({ quick: 8 * EVERY, slow: 50 * EVERY });

async function withSite(t: TestContext, use: (engine: Engine, site: ForgetfulSite) => Promise<void>): Promise<void> {
  const site = await startForgetfulSite();
  t.after(() => site.close());
  const settings = {
    ...{ dataDir: tempDataDir(), routes: `http://forgetful.test=${site.origin}`, allowAddresses: 'loopback' },
    scrapers: [fileURLToPath(new URL('../models/scrapers', import.meta.url))],
  };
  await withEngine(settings, (engine) => use(engine, site));
}

async function start(engine: Engine, policy: Record<string, unknown>, count = ITEMS): Promise<void> {
  const items = itemsOf(count, (index) => ({ apn: String(index) }));
  await submit(engine, {
    job_id: 'county',
    scraper_id: 'model-forgetful',
    hold: true,
    items: items.slice(0, MAX_INLINE_ITEMS),
    execution_policy: {
      throttling: { max_concurrent_workers: 8, adaptive: false },
      retries: { max_retries: 1, backoff_factor: 0.01 },
      ...policy,
    },
  });
  const { ledger, clock } = engine;
  for (let from = MAX_INLINE_ITEMS; from < count; from += MAX_INLINE_ITEMS) {
    const more = items.slice(from, from + MAX_INLINE_ITEMS).map(({ item_id: itemId, input }) => ({ itemId, input }));
    await ledger.addItems('county', more, 0, clock.now());
  }
  await ledger.changeJob('county', { kind: 'start' }, clock.now());
}

const CONTROL = { items: [{ input: { apn: 'KNOWN' } }], every: EVERY, ignore: ['printed'] };

function untilStopped(engine: Engine): Promise<JobRecord> {
  return untilJob(
    engine,
    'county',
    ({ status, counts }) => (status === 'paused' || status === 'failed') && inFlightOf(counts) === 0,
  );
}

/** Every parcel that exists is found, every other one is not, and nothing else. */
async function checkEverything(engine: Engine, items = ITEMS): Promise<void> {
  for (let number = 0; number < items; number += 1) {
    const item = await engine.ledger.item('county', `item-${number}`);
    const end = item?.status === 'failed' ? item.attempts.at(-1)?.failure?.type : item?.status;
    assert.equal(end, exists(number) ? 'success' : 'no_results', `item ${number}`);
  }
}

async function resume(engine: Engine): Promise<void> {
  const answer = await engine.ledger.changeJob('county', { kind: 'resume' }, engine.clock.now());
  assert.ok(answer !== 'missing' && !('refused' in answer), JSON.stringify(answer));
}

test(`a site that answers "no records" to everything from item ${BREAKS_AT} on is noticed within ${EVERY} items, and no false answer remains`, async (t) => {
  await withSite(t, async (engine, site) => {
    site.next = { after: BREAKS_AT, mode: 'finds-nothing' };
    await start(engine, { controls: CONTROL });
    const paused = await untilStopped(engine);
    assert.equal(paused.status, 'paused');
    assert.equal(paused.reason?.code, 'control');
    assert.match(
      paused.reason?.message ?? '',
      /control \{"apn":"KNOWN"\} must be found, but returned no_results: no records/,
    );
    const done = paused.counts.success + paused.counts.failed;
    assert.ok(done <= BREAKS_AT + EVERY, `${done} items have ended`);
    const before = new Map(site.asked);

    // Still broken: the next control comes first, and no item is tried.
    await resume(engine);
    await untilJob(
      engine,
      'county',
      ({ status, controls }) => status === 'paused' && (controls?.tried ?? 0) > (paused.controls?.tried ?? 0),
    );
    const { counts } = await untilStopped(engine);
    assert.equal(counts.success, paused.counts.success);

    site.mode = 'sound';
    await resume(engine);
    const job = await untilFinished(engine, 'county');
    assert.equal(job.status, 'completed');
    await checkEverything(engine);

    // What was not found before the last good control was not asked for again.
    const again = [...site.asked].filter(
      ([apn, times]) => apn !== 'KNOWN' && times > (before.get(apn) ?? 0) && before.has(apn),
    );
    assert.ok(again.length <= 2 * EVERY, `${again.length} parcels were asked for again`);
    const early = Array.from({ length: 1.5 * EVERY }, (_, number) => number).filter((number) => !exists(number));
    for (const number of early) assert.equal(site.asked.get(String(number)), 1, `parcel ${number}`);
    assert.equal(
      job.counts.failed,
      Array.from({ length: ITEMS }, (_, number) => number).filter((n) => !exists(n)).length,
    );
  });
});

test('a site that breaks with the last items is noticed before the job is completed', async (t) => {
  await withSite(t, async (engine, site) => {
    site.next = { after: 50, mode: 'finds-nothing' };
    await start(engine, { controls: { ...CONTROL, every: 500 } }, 80);
    const paused = await untilStopped(engine);
    assert.deepEqual([paused.status, paused.counts.success + paused.counts.failed], ['paused', 80]);
    site.mode = 'sound';
    await resume(engine);
    const { usage, controls } = await untilFinished(engine, 'county');
    await checkEverything(engine, 80);
    assert.ok((controls?.tried ?? 0) > 1);
    const asked = [...site.asked.values()].reduce((sum, times) => sum + times, 0);
    assert.equal(totalUsage(usage).requests, asked, 'requests of controls are counted');
  });
});

test('other data than the first time, or than expected, pause the job and name the field', async (t) => {
  await withSite(t, async (engine, site) => {
    site.next = { after: 1.5 * EVERY, mode: 'mixes-up' };
    await start(engine, { controls: CONTROL });
    const paused = await untilStopped(engine);
    assert.match(paused.reason?.message ?? '', /returned other data than the first time in this job: owner\./);
    const controls = { ...CONTROL, items: [{ input: { apn: 'KNOWN' }, expect: { owner: 'OWNER OF KNOWN' } }] };
    const policy = { ...paused.policy, controls };
    await engine.ledger.changeJob('county', { kind: 'policy', policy }, engine.clock.now());
    await resume(engine);
    const again = await untilJob(
      engine,
      'county',
      ({ status, reason }) => status === 'paused' && reason?.message !== paused.reason?.message,
    );
    assert.match(again.reason?.message ?? '', /returned owner "SOMEBODY ELSE" instead of "OWNER OF KNOWN"/);
  });
});

test('a county that starts blocking wastes fewer than 100 items, shows the evidence, and is finished after a resume', async (t) => {
  const items = sized({ quick: 250, slow: 100_000 });
  const blocksAt = sized({ quick: 100, slow: 3000 });
  await withSite(t, async (engine, site) => {
    site.next = { after: blocksAt, mode: 'blocks' };
    await start(engine, { circuit_breaker: { consecutive_failures: 20 } }, items);
    const failed = await untilStopped(engine);
    assert.equal(failed.status, 'failed');
    const wasted = failed.reason?.evidence.find(({ type }) => type === 'blocked');
    assert.ok(wasted !== undefined && wasted.examples.length > 0);
    assert.ok(wasted.count < 100, `${wasted.count} items were wasted`);
    t.diagnostic(`${wasted.count} items were wasted`);
    site.mode = 'sound';
    await resume(engine);
    const job = await untilFinished(engine, 'county');
    assert.deepEqual([job.status, job.counts.success + job.counts.failed], ['completed', items]);
  });
});

test('a county in which 30 % of the items do not exist is completed, and one that finds nothing at all is stopped', async (t) => {
  await withSite(t, async (engine, site) => {
    const items = sized({ quick: 150, slow: 3000 });
    await submit(engine, {
      ...{ job_id: 'county', scraper_id: 'model-forgetful' },
      items: itemsOf(items, (index) => ({ apn: index % 10 < 3 ? '3' : String(index - (index % 10)) })),
      execution_policy: { throttling: { max_concurrent_workers: 8 } },
    });
    const job = await untilFinished(engine, 'county');
    assert.deepEqual([job.status, job.counts.failed], ['completed', 0.3 * items]);

    site.mode = 'finds-nothing';
    await submit(engine, {
      ...{ job_id: 'nothing', scraper_id: 'model-forgetful' },
      items: itemsOf(items, (index) => ({ apn: String(index) })),
    });
    const stopped = await untilJob(engine, 'nothing', ({ status }) => status === 'failed');
    assert.equal(stopped.reason?.message, 'none of the first 50 items succeeded: 50 no_results');
  });
});
