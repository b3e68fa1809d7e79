import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { RequestListener } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { after, test } from 'node:test';
import type { Page } from 'playwright-core';
import { trustArgs } from '../../src/egress/browser/launch-args.ts';
import { type HostGate, HostHeld, OPEN_GATE } from '../../src/ports/host-gate.ts';
import { UsageMeter } from '../../src/scraping/usage-meter.ts';
import { untilTrue } from '../support/until.ts';
import { aBrowserVisit, type ContextParts, closeBrowsers, launchChromium, openBrowser } from './open-browser.ts';
import { CERTIFICATE, startSite, toSites } from './sites.ts';

after(closeBrowsers);

const trusting = trustArgs(CERTIFICATE.cert);

function opened() {
  return openBrowser('127.0.0.2', { lookup: toSites }, trusting);
}

async function errorOf(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => null,
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof Error);
  return error.message;
}

for (const isTls of [false, true]) {
  const scheme = isTls ? 'https' : 'http';

  test(`requests and bytes of ${scheme} are counted by host, to the byte`, async (t) => {
    const answer: RequestListener = (request, response) => {
      response.writeHead(request.url === '/busy' ? 429 : 403, { 'content-type': 'text/plain' }).end('no');
    };
    const site = await startSite(
      t,
      {
        '/': '<script>fetch("/data").then((answer) => answer.text()); fetch("/busy"); fetch("/closed"); fetch("/sent", { method: "POST", body: "x".repeat(50000) })</script>',
        ...{
          '/data': 'x'.repeat(100_000),
          '/more': 'x'.repeat(100_000),
          '/sent': 'thanks',
          '/busy': answer,
          '/closed': answer,
        },
      },
      isTls,
    );
    const meter = new UsageMeter();
    let downBefore = 0;
    await using open = await opened();
    {
      await using visitor = await open.openContext({ visit: { usage: meter.through('datacenter') } });
      const page = await visitor.newPage();
      await page.goto(`${site.origin}/`, { waitUntil: 'networkidle' });
      await page.goto(`${site.origin}/more`);
      downBefore = site.bytes().down;
    }
    const [row, ...others] = meter.read();
    assert.deepEqual(others, []);
    const { up, down } = site.bytes();
    assert.ok(downBefore > 200_000 && up > 50_000);
    assert.ok(row !== undefined);
    const { bytesDown, ...counts } = row;
    assert.deepEqual(counts, {
      ...{ host: new URL(site.origin).host, proxy: 'datacenter', requests: site.asked.length },
      ...{ bytesUp: up, refused: 1, blocked: 1 },
    });
    // What the site says to a connection that is being closed may come too late to be read.
    assert.ok(bytesDown >= downBefore && bytesDown <= down, `${bytesDown} of ${downBefore} to ${down}`);
  });

  test(`a ${scheme} page that exceeds the byte limit ends, and the reason is known`, async (t) => {
    const site = await startSite(t, { '/': 'x'.repeat(3_000_000) }, isTls);
    await using open = await opened();
    await using visitor = await open.openContext({ visit: { maxBytes: 1_000_000 } });
    const page = await visitor.newPage();
    await page.goto(`${site.origin}/`, { waitUntil: 'commit' });
    await untilTrue(() => visitor.way.refusal() !== null);
    const refusal = visitor.way.refusal();
    assert.ok(refusal?.kind === 'failed' && refusal.failure.type === 'too_large', JSON.stringify(refusal));
  });

  test(`a ${scheme} site that cannot be reached is a failure with its reason`, async () => {
    await using open = await opened();
    await using visitor = await open.openContext();
    const page = await visitor.newPage();
    // Nothing listens there.
    await assert.rejects(page.goto(`${scheme}://site.test:8999/`), /net::ERR_/);
    const refusal = visitor.way.refusal();
    assert.ok(refusal?.kind === 'failed' && refusal.failure.type === 'network_error', JSON.stringify(refusal));
  });
}

test('no other client can use the proxy of a context', async (t) => {
  const site = await startSite(t, { '/': 'secret' });
  await using open = await opened();
  await using visitor = await open.openContext();
  const page = await visitor.newPage();
  await page.goto(`${site.origin}/`);
  const { port } = new URL(visitor.way.contextOptions.proxy?.server ?? '');
  const host = `site.test:${site.port}`;
  const before = site.asked.length;
  const asks = [
    `GET http://${host}/ HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`,
    `CONNECT ${host} HTTP/1.1\r\nhost: ${host}\r\n\r\n`,
    `CONNECT ${host} HTTP/1.1\r\nhost: ${host}\r\nproxy-authorization: Basic dHJhd2w6YWFhYWFh\r\n\r\n`,
  ];
  for (const ask of asks) {
    const socket = connect(Number(port), '127.0.0.1');
    await once(socket, 'connect');
    socket.write(ask);
    assert.match(await text(socket), /^HTTP\/1.1 407 /);
  }
  assert.equal(site.asked.length, before);
});

test('a page cannot talk to the proxy itself, even if loopback is allowed', async (t) => {
  const site = await startSite(t, { '/': 'site' });
  await using open = await openBrowser('127.0.0.0/8', { lookup: toSites });
  await using visitor = await open.openContext();
  const page = await visitor.newPage();
  await page.goto(`${site.origin}/`);
  const server = visitor.way.contextOptions.proxy?.server;
  const status = await page.evaluate(
    `fetch('${server}/http://site.test:${site.port}/', { mode: 'no-cors' }).then(() => 'answered', () => 'nothing')`,
  );
  assert.equal(status, 'answered', 'with 407: it does not know the password');
  assert.equal(site.asked.length, 1);
});

test('a context that has ended leaves no connection and no listener', async (t) => {
  const site = await startSite(t, { '/': '<script>new EventSource("/stream")</script>', '/stream': () => undefined });
  await using open = await opened();
  let port = 0;
  {
    await using visitor = await open.openContext();
    const page = await visitor.newPage();
    await page.goto(`${site.origin}/`);
    await untilTrue(() => site.asked.includes('GET /stream'));
    port = Number(new URL(visitor.way.contextOptions.proxy?.server ?? '').port);
    assert.ok(site.open() > 0);
  }
  await untilTrue(() => site.open() === 0);
  const late = connect(port, '127.0.0.1');
  const [error] = await once(late, 'error');
  assert.equal(error.code, 'ECONNREFUSED');
});

/** Records who enters and leaves. */
class WatchedGate implements HostGate {
  readonly noted: string[] = [];
  readonly #gate = OPEN_GATE;
  held: string | null = null;
  hold = this.#gate.hold;
  noteTrouble = this.#gate.noteTrouble;
  noteAnswer = this.#gate.noteAnswer;
  takeRetry = this.#gate.takeRetry;
  inside = 0;
  mostInside = 0;

  pauseOf(host: string) {
    return host === this.held ? { ms: 60_000, reason: 'it asked for it', isAway: false } : null;
  }

  async enter(host: string): Promise<() => void> {
    if (host === this.held) throw new HostHeld(host, 60_000, 'it asked for it');
    this.noted.push(host.replace(/:.*/, ''));
    this.inside += 1;
    this.mostInside = Math.max(this.mostInside, this.inside);
    return () => {
      this.inside -= 1;
    };
  }
}

async function visit(parts: ContextParts, work: (page: Page, refusal: () => unknown) => Promise<void>): Promise<void> {
  await using open = await opened();
  await using visitor = await open.openContext(parts);
  await work(await visitor.newPage(), () => {
    const refusal = visitor.way.refusal();
    return refusal?.kind === 'failed' ? `${refusal.failure.type}: ${refusal.failure.message}` : refusal?.error;
  });
}

test('each document waits at the gate of its host, redirects and frames included; what else a page loads does not', async (t) => {
  const site = await startSite(
    t,
    {
      '/start': (_, response) => response.writeHead(302, { location: `https://other.test:${site.port}/page` }).end(),
      '/page': `<script src=/script.js></script><iframe src="/frame"></iframe>`,
      ...{ '/frame': 'x', '/script.js': '1' },
    },
    true,
  );
  const gate = new WatchedGate();
  await visit({ visit: { gate } }, async (page) => {
    await page.goto(`${site.origin}/start`, { waitUntil: 'networkidle' });
    assert.deepEqual(gate.noted, ['site.test', 'other.test', 'other.test']);
    await untilTrue(() => gate.inside === 0);
    assert.deepEqual(
      site.asked.filter((line) => line !== 'GET /favicon.ico'),
      ['GET /start', 'GET /page', 'GET /script.js', 'GET /frame'],
    );
  });
});

test('a host that is paused is not asked, neither for a page nor for what a page loads', async (t) => {
  const site = await startSite(t, { '/': '', '/data': 'x' });
  const gate = new WatchedGate();
  await visit({ visit: { gate } }, async (page, refusal) => {
    gate.held = `other.test:${site.port}`;
    await page.goto(`${site.origin}/`);
    const url = `http://other.test:${site.port}/data`;
    assert.equal(await page.evaluate(`fetch('${url}').then(() => 'came', () => 'nothing')`), 'nothing');
    assert.match(await errorOf(page.goto(url)), /ERR_BLOCKED_BY_CLIENT/);
    assert.ok(refusal() instanceof HostHeld);
    assert.deepEqual(site.asked, ['GET /']);
  });
});

test('a page of a host that the scraper does not name, or that robots.txt disallows, is not requested, not even by a redirect', async (t) => {
  const site = await startSite(t, {
    '/': '',
    '/away': (_, response) => response.writeHead(302, { location: `http://other.test:${site.port}/` }).end(),
    '/private': '',
  });
  const parts = {
    checkHost: (host: string) => {
      if (!host.startsWith('site.test')) throw new Error(`${host} is foreign`);
    },
    checkUrl: async (url: string) => {
      if (url.endsWith('/private')) throw new Error('disallowed');
    },
  };
  await visit({ visit: parts }, async (page, refusal) => {
    await page.goto(`${site.origin}/`);
    assert.match(await errorOf(page.goto(`${site.origin}/away`)), /ERR_BLOCKED_BY_CLIENT/);
    assert.equal(`${refusal()}`, `Error: other.test:${site.port} is foreign`);
    assert.match(await errorOf(page.goto(`${site.origin}/private`)), /ERR_BLOCKED_BY_CLIENT/);
    assert.equal(`${refusal()}`, 'Error: disallowed');
    assert.deepEqual(site.asked, ['GET /', 'GET /away']);
  });
});

test('a context that goes on to the next visit counts for it, and leaves by new connections', async (t) => {
  const site = await startSite(t, { '/': 'x' }, true);
  const [first, second] = [new UsageMeter(), new UsageMeter()];
  await using open = await opened();
  await using visitor = await open.openContext({ visit: { usage: first.through('none') } });
  const page = await visitor.newPage();
  await page.goto(`${site.origin}/`);
  await visitor.way.next(aBrowserVisit({ usage: second.through('none') }));
  await untilTrue(() => site.open() === 0);
  await page.goto(`${site.origin}/`);
  await page.goto(`${site.origin}/`);
  assert.deepEqual(
    [first, second].map((meter) => meter.read()[0]?.requests),
    [1, 2],
  );
});

test('a remote browser has its own network; its documents are checked and wait at the gate all the same', async (t) => {
  const site = await startSite(t, { '/': 'x' });
  const gate = new WatchedGate();
  await using open = await opened();
  // A browser of this machine in place of a remote one: it does not know about our proxy.
  const browser = await launchChromium(['--host-resolver-rules=MAP *.test 127.0.0.2']);
  t.after(() => browser.close());
  const checkHost = (host: string) => {
    if (!host.startsWith('site.test')) throw new Error(`${host} is foreign`);
  };
  const options = { block: [], browser: 'remote', disguise: null } as const;
  const way = await open.egress.open(aBrowserVisit({ gate, checkHost }), options);
  assert.deepEqual(way.contextOptions, {});
  const context = await browser.newContext();
  const page = await context.newPage();
  await way.attach(await context.newCDPSession(page));
  await page.goto(`${site.origin}/`);
  assert.deepEqual(gate.noted, ['site.test']);
  assert.match(await errorOf(page.goto(`http://other.test:${site.port}/`)), /ERR_BLOCKED_BY_CLIENT/);
  assert.deepEqual(site.asked, ['GET /']);
});
