import assert from 'node:assert/strict';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, type TestContext, test } from 'node:test';
import { HurriedClock } from '../egress/canary.ts';
import { runInNamespace } from '../egress/network-namespace.ts';
import { sized } from '../support/sized.ts';
import type { Findings } from './canary-in-namespace.ts';
import { closeBrowsers, openBrowser } from './open-browser.ts';
import { PROVEN, TRIED, WAYS_OUT } from './ways-out.ts';

after(closeBrowsers);

test('a page that tries 200 or more ways reaches neither this machine nor its networks nor a metadata service', async () => {
  const { attempts, guarded, allowed, bare }: Findings = JSON.parse(
    await runInNamespace(new URL('./canary-in-namespace.ts', import.meta.url)),
  );
  assert.ok(attempts > 200, `${attempts}`);
  assert.deepEqual(guarded, { seen: [], ways: [], targets: [], pages: TRIED.length });

  // The same pages with everything allowed, which proves that our rules kept them away.
  const working = WAYS_OUT.filter(({ isIdle }, at) => isIdle !== true && PROVEN.includes(at)).map(({ name }) => name);
  assert.deepEqual(
    working.filter((name) => !allowed.ways.includes(name)),
    [],
    'ways that lead nowhere prove nothing',
  );
  assert.ok(allowed.targets.length > sized({ quick: 4, slow: 20 }), allowed.targets.join(' '));

  // This is what goes past proxies in a browser that was not configured otherwise.
  assert.ok(
    bare.seen.some((each) => each.startsWith('udp')),
    bare.seen.join(' '),
  );
});

async function listen(t: TestContext, address: string, port: number, answer: RequestListener): Promise<number> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(port, address, resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

test('a name that resolves elsewhere after its page was loaded leads nowhere', async (t) => {
  const port = await listen(t, '127.0.0.2', 0, (_, response) => {
    response.writeHead(200, { 'content-type': 'text/html', connection: 'close' }).end('<title>site</title>');
  });
  let seen = 0;
  await listen(t, '127.0.0.1', port, (_, response) => {
    seen += 1;
    response.end('canary');
  });
  const clock = new HurriedClock();
  let asked = 0;
  const lookup = async () => {
    asked += 1;
    return [{ address: asked === 1 ? '127.0.0.2' : '127.0.0.1' }];
  };
  await using open = await openBrowser('127.0.0.2', { lookup, clock });
  await using visitor = await open.openContext();
  const page = await visitor.newPage();
  await page.goto(`http://changing.test:${port}/`);
  assert.equal(await page.title(), 'site');
  clock.hurry(60_000);
  const again = await page.evaluate('fetch("/again").then((answer) => answer.text(), String)');
  assert.equal(again, 'TypeError: Failed to fetch');
  await assert.rejects(page.goto(`http://changing.test:${port}/`), /ERR_EMPTY_RESPONSE/);
  const refusal = visitor.way.refusal();
  assert.ok(refusal?.kind === 'failed' && refusal.failure.type === 'refused_address', JSON.stringify(refusal));
  assert.deepEqual([asked, seen], [2, 0]);
});
