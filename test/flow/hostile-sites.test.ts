import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import type { FailureType } from '../../src/domain/failure.ts';
import type { ItemRecord } from '../../src/domain/item.ts';
import type { Engine } from '../../src/main/engine.ts';
import { type Bombs, makeBombs } from '../egress/bombs.ts';
import { good, type HostileServer, type Line, openHostileServer } from '../egress/hostile-server.ts';
import { submit, tempDataDir, untilFinished, withEngine } from './engine.ts';

/**
 * Hostile sites as a worker process meets them, through a scraper: from the wire (all of that is in test/egress) to the
 * page. Beside every such item there is one of a good page of the same server.
 */
type Expected = FailureType | { readonly title: string | null };
type Answer = (line: Line, bombs: Bombs, path: string) => unknown;

const SITES: readonly (readonly [name: string, Expected, Answer])[] = [
  ['a brotli bomb', 'too_large', (line, { brotli }) => line.say(head('Content-Encoding: br', brotli), brotli)],
  ['a gzip bomb', 'too_large', (line, { gzip }) => line.say(head('Content-Encoding: gzip', gzip), gzip)],
  ['a gzip bomb in gzip', 'too_large', (l, { gzipInGzip: b }) => l.say(head('Content-Encoding: gzip, gzip', b), b)],
  ['a page without end', 'too_large', (line) => line.say('HTTP/1.1 200 OK\r\n\r\n').flood('<p>more</p>'.repeat(1000))],
  ['a million elements', 'too_large', (line) => line.say(good('<br>'.repeat(1_000_000), HTML))],
  ['a million attributes', 'too_large', (line) => line.say(good(`<p ${attributes(1_000_000)}>x`, HTML))],
  ['a hundred thousand levels', 'too_large', (line) => line.say(good('<div>'.repeat(100_000), HTML))],
  ['a title without end', { title: 'x' }, (line) => line.say(good(`<title>x</title><h1>${'y'.repeat(1e6)}`, HTML))],
  ['a comment that never ends', { title: null }, (line) => line.say(good(`<!-- ${'-'.repeat(1e6)}`, HTML))],
  ['a million of the sign <', 'too_large', (line) => line.say(good('<'.repeat(1_000_000), HTML))],
  ['a million entities', 'too_large', (line) => line.say(good('&amp;'.repeat(1_000_000), HTML))],
  ['a charset that does not exist', { title: 'für' }, (line) => line.say(good('<title>für</title>', KLINGON))],
  ['a charset that is another one', { title: 'f\ufffdr' }, (line) => line.say(WRONG_CHARSET)],
  ['a picture instead of a page', { title: null }, (l) => l.say(good('\u0089PNG\r\n', 'Content-Type: image/png\r\n'))],
  ['headers without end', 'too_large', (line) => line.say('HTTP/1.1 200 OK\r\n').flood('X-More: yes\r\n'.repeat(300))],
  [
    'a thousand cookies',
    'too_large',
    (line) => line.say(`HTTP/1.1 200 OK\r\n${'Set-Cookie: a=1\r\n'.repeat(1000)}\r\n`),
  ],
  ['bad chunks', 'network_error', (line) => line.say('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n')],
  ['half a page', 'network_error', (line) => line.say('HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nhalf').close()],
  ['a reset', 'network_error', (line) => line.reset()],
  ['two answers', { title: 'mine' }, (line) => line.say(good('<title>mine</title>', HTML), good('not yours', HTML))],
  ['no answer', 'timeout', () => undefined],
  ['a drip', 'timeout', (line) => line.say('HTTP/1.1 200 OK\r\n\r\n').every(100, () => line.say('x'))],
  ['redirects for ever', 'navigation_failed', (line, _, path) => line.say(redirect(`${path}x`))],
  ['a redirect to the metadata service', 'refused_address', (line) => line.say(redirect('http://169.254.169.254/'))],
  ['a redirect to a file', 'refused_address', (line) => line.say(redirect('file:///etc/passwd'))],
  ['no HTTP at all', 'network_error', (line) => line.say('SSH-2.0-OpenSSH_9.9\r\n')],
  ['a status out of nowhere', 'structure_changed', (line) => line.say('HTTP/1.1 499 x\r\nContent-Length: 0\r\n\r\n')],
];

const HTML = 'Content-Type: text/html; charset=utf-8\r\n';
const KLINGON = 'Content-Type: text/html; charset=klingon\r\n';
const LATIN1 = Buffer.concat([Buffer.from('<title>f'), Buffer.from([0xfc]), Buffer.from('r</title>')]);
const WRONG_CHARSET = Buffer.concat([
  Buffer.from(`HTTP/1.1 200 OK\r\n${HTML}Content-Length: ${LATIN1.length}\r\n\r\n`),
  LATIN1,
]);

/** Inflated size of a bomb: more than the worker may grow by, so that one that goes off is not taken for noise. */
const BOMB_BYTES = 192 << 20;
/** Eight slots hold pages up to their limit, and their texts: 30 to 40 MiB. A busy machine collects garbage late. */
const MOST_GROWTH_MIB = 150;

let server: HostileServer;
before(async () => {
  const bombs = await makeBombs(BOMB_BYTES);
  server = await openHostileServer({
    answer: (line, path) => SITES[Number(/^\/site-(\d+)/.exec(path)?.[1])]?.[2](line, bombs, path),
  });
});
after(() => server.close());

test(`a worker survives ${SITES.length} hostile sites: each ends as it should, memory stays, neighbours are right`, async (t) => {
  const config = { dataDir: tempDataDir(), workers: 1, slots: 8, allowAddresses: 'loopback' };
  await withEngine(config, async (engine, pids) => {
    const pid = pids()[0];
    assert.ok(pid !== undefined);
    // The heap of a process that has never worked says nothing.
    await scrape(
      engine,
      Array.from({ length: 200 }, (_, at) => ['good', `/good/${at}`]),
      PATIENT_SECONDS,
    );
    const before = peakBytes(pid);
    const sites = SITES.map(([name, expected], at) => ({ name, expected, path: `/site-${at}` }));
    const slow = sites.filter(({ expected }) => expected === 'timeout');
    const others = sites.filter(({ expected }) => expected !== 'timeout');
    // Two jobs at a time in the one worker: on a busy machine, a timeout that is worth waiting for strikes the others, too.
    const [late, ended] = await Promise.all([
      scrape(
        engine,
        slow.map(({ name, path }) => [name, path]),
        IMPATIENT_SECONDS,
      ),
      scrape(
        engine,
        [
          ...others.map(({ name, path }): [string, string] => [name, path]),
          ...sites.map(({ name }, at): [string, string] => [`beside ${name}`, `/good/${at}`]),
        ],
        PATIENT_SECONDS,
      ),
    ]);
    const items = new Map([...late, ...ended]);
    assert.deepEqual(pids(), [pid], 'the worker has died');
    const grown = (peakBytes(pid) - before) / (1 << 20);
    t.diagnostic(`the worker's memory has grown by ${grown.toFixed(1)} MiB`);
    assert.ok(grown < MOST_GROWTH_MIB, `the worker's memory has grown by ${grown} MiB`);

    for (const [name, expected] of SITES) {
      await t.test(name, async () => checkEnd(engine, items.get(name), expected));
      await t.test(`${name}: its neighbour`, async () => {
        const at = SITES.findIndex(([other]) => other === name);
        const item = items.get(`beside ${name}`);
        assert.equal(item?.status, 'success', JSON.stringify(item?.attempts));
        const kept = await engine.store.get(keyOf(item, 'html'));
        assert.equal(Buffer.from(kept ?? []).toString(), `good /good/${at}`);
      });
    }
  });
});

const PATIENT_SECONDS = 120;
const IMPATIENT_SECONDS = 4;

async function scrape(engine: Engine, visits: readonly (readonly [string, string])[], timeoutSeconds: number) {
  const jobId = await submit(engine, {
    scraper_id: 'example-http',
    items: visits.map(([name, path], at) => ({
      item_id: name === 'good' ? `good-${at}` : name,
      input: { url: `http://127.0.0.1:${server.port}${path}` },
    })),
    execution_policy: {
      throttling: { max_concurrent_workers: 2, adaptive: false },
      retries: { max_retries: 0 },
      timeouts: { request_timeout_seconds: timeoutSeconds, connect_timeout_seconds: timeoutSeconds },
      circuit_breaker: { min_requests: 1000, consecutive_failures: 1000 },
    },
  });
  await untilFinished(engine, jobId);
  const page = await engine.ledger.items(jobId, { status: null, errorType: null }, { after: null, limit: 1000 });
  return new Map(page.entries.map((item) => [item.itemId, item]));
}

async function checkEnd(engine: Engine, item: ItemRecord | undefined, expected: Expected): Promise<void> {
  const failure = item?.attempts.at(-1)?.failure ?? null;
  if (typeof expected === 'string') {
    assert.equal(failure?.type, expected, `${item?.status} ${failure?.message}`);
    return;
  }
  assert.equal(item?.status, 'success', failure?.message ?? 'no failure');
  const data = await engine.store.get(keyOf(item, 'data'));
  assert.equal(JSON.parse(Buffer.from(data ?? []).toString()).title, expected.title);
}

function keyOf(item: ItemRecord | undefined, kind: string): string {
  return item?.artifacts.find((artifact) => artifact.kind === kind)?.key ?? 'none';
}

/** The most memory that the process has had so far. */
function peakBytes(pid: number): number {
  return Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024;
}

function head(header: string, body: Uint8Array): string {
  return `HTTP/1.1 200 OK\r\n${HTML}${header}\r\nContent-Length: ${body.length}\r\n\r\n`;
}

function redirect(location: string): string {
  return `HTTP/1.1 302 Found\r\nLocation: ${location}\r\nContent-Length: 0\r\n\r\n`;
}

function attributes(count: number): string {
  return Array.from({ length: count }, (_, at) => `a${at}=1`).join(' ');
}
