import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type County, startCounty } from '../../demo/county.ts';
import { apnOf } from '../../demo/parcels.ts';

async function withCounty(faults: unknown, run: (county: County) => Promise<void>): Promise<void> {
  const county = await startCounty({ parcels: 100, faults });
  try {
    await run(county);
  } finally {
    await county.close();
  }
}

const page = ({ url }: County, signal?: AbortSignal) => fetch(`${url}/parcel/${apnOf(1)}`, signal ? { signal } : {});
const control = async ({ url }: County, plan: unknown) => {
  const answer = await fetch(`${url}/__control/faults`, { method: 'PUT', body: JSON.stringify(plan) });
  return { status: answer.status, body: await answer.json() };
};
interface Seen {
  readonly pages: Readonly<Record<string, number>>;
  readonly faults: Readonly<Record<string, number>>;
  readonly connections: { readonly now: number; readonly most: number };
  readonly underWay: { readonly now: number; readonly most: number };
}
const stats = async ({ url }: County) => (await (await fetch(`${url}/__control/stats`)).json()) as Seen;

test('faults that answer do so with their status, their headers and their words', async () => {
  const seen: readonly [plan: object, status: number, header: readonly [string, string | null], text: RegExp][] = [
    [{ rateLimit: { retryAfterSeconds: 7 } }, 429, ['retry-after', '7'], /Too Many Requests/],
    [{ challenge: {} }, 403, ['cf-mitigated', 'challenge'], /<title>Just a moment\.\.\.<\/title>.*_cf_chl_opt/s],
    [{ block: {} }, 200, ['x-cdn', 'Imperva'], /iframe id="main-iframe".*Incapsula incident ID/s],
    [{ maintenance: {} }, 503, ['retry-after', null], /We are currently conducting maintenance/],
    [{ maintenance: { status: 200 } }, 200, ['retry-after', null], /We are currently conducting maintenance/],
    [{ serverError: {} }, 500, ['retry-after', null], /Server Error in/],
    [{ notFound: {} }, 404, ['retry-after', null], /Page Not Found/],
    [{ layout: {} }, 200, ['retry-after', null], new RegExp(`id="v2-datalet_lblParid">${apnOf(1)}<`)],
    [{ wrongParcel: {} }, 200, ['retry-after', null], new RegExp(`id="datalet_lblParid">${apnOf(0)}<`)],
  ];
  await withCounty({}, async (county) => {
    for (const [plan, status, [name, value], text] of seen) {
      assert.equal((await control(county, plan)).status, 200);
      const answer = await page(county);
      assert.deepEqual([answer.status, answer.headers.get(name)], [status, value], JSON.stringify(plan));
      assert.match(await answer.text(), text);
    }
  });
});

test('a reset tears the connection', () =>
  withCounty({ reset: {} }, async (county) => {
    const error = await page(county).then(
      () => null,
      (failed: { cause?: { code?: string } }) => failed.cause?.code,
    );
    assert.equal(error, 'ECONNRESET');
  }));

test('a time-out gives no answer, until the site closes', () =>
  withCounty({ timeout: {} }, async (county) => {
    const answer = page(county).then(
      () => 'answered',
      () => 'torn',
    );
    while ((await stats(county)).underWay.now === 0);
    assert.equal((await stats(county)).faults['timeout'], 1);
    await county.close();
    assert.equal(await answer, 'torn');
  }));

test('a drip sends the page in pieces, and all of it', () =>
  withCounty({ drip: { bytes: 8000, everyMs: 5 } }, async (county) => {
    const answer = await page(county);
    let pieces = 0;
    let size = 0;
    for await (const piece of answer.body ?? []) {
      pieces += 1;
      size += piece.length;
    }
    assert.ok(pieces >= 3, `${pieces} pieces`);
    assert.equal(size, Number(answer.headers.get('content-length')));
  }));

test('a visitor who leaves in the middle leaves nothing behind', () =>
  withCounty({ latency: { ms: 600_000, to: 1 }, drip: { everyMs: 600_000, from: 1 } }, async (county) => {
    for (const kind of ['latency', 'drip']) {
      const leaving = new AbortController();
      const gone = assert.rejects(page(county, leaving.signal).then((answer) => answer.text()));
      while ((await stats(county)).faults[kind] === undefined);
      leaving.abort();
      await gone;
      while ((await stats(county)).underWay.now > 0);
    }
  }));

test('latency delays the answer, and requests pile up meanwhile', () =>
  withCounty({ latency: { ms: 30 } }, async (county) => {
    const startedAt = performance.now();
    await Promise.all([page(county), page(county), page(county)].map(async (answer) => (await answer).text()));
    assert.ok(performance.now() - startedAt >= 29);
    const seen = await stats(county);
    assert.deepEqual([seen.underWay.most, seen.faults['latency'], seen.pages['parcel']], [3, 3, 3]);
    assert.ok(seen.connections.most >= 3);
  }));

test('a period by number is counted from when the plan was set', () =>
  withCounty({}, async (county) => {
    const statuses = async () => {
      const seen: number[] = [];
      for (let count = 0; count < 5; count += 1) seen.push((await page(county)).status);
      return seen;
    };
    assert.deepEqual(await statuses(), [200, 200, 200, 200, 200]);
    await control(county, { serverError: { from: 1, to: 3 } });
    assert.deepEqual(await statuses(), [200, 500, 500, 200, 200]);
    assert.deepEqual((await stats(county)).faults, { serverError: 2 });
  }));

test('a period by time begins and ends', () =>
  withCounty({ serverError: { toMs: 500 } }, async (county) => {
    const statuses = new Set<number>();
    const isOver = () => statuses.has(200);
    while (!isOver()) statuses.add((await page(county)).status);
    assert.deepEqual([...statuses], [500, 200]);
    assert.equal((await page(county)).status, 200);
  }));

test('a bad plan is refused by name and changes nothing', () =>
  withCounty({ notFound: {} }, async (county) => {
    assert.deepEqual(await control(county, { reset: { rate: 7 } }), {
      status: 400,
      body: { error: 'reset.rate: is not a number from 0 to 1' },
    });
    const noJson = await fetch(`${county.url}/__control/faults`, { method: 'PUT', body: '{' });
    assert.deepEqual([noJson.status, await noJson.json()], [400, { error: 'plan: is not JSON' }]);
    assert.equal((await page(county)).status, 404);
    await assert.rejects(startCounty({ faults: { resets: {} } }), /resets: is not a fault/);
  }));

test('a county that closes in the middle of its faults closes', () =>
  withCounty({ drip: { everyMs: 600_000 } }, async (county) => {
    const answer = await page(county);
    await county.close();
    await assert.rejects(answer.text());
  }));
