import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answersFor, type Counted, openTraveller, type Report, startCanary, startSite, tryAllWays } from './canary.ts';
import type { Findings } from './canary-in-namespace.ts';
import { runInNamespace } from './network-namespace.ts';

/** All three ways, from a site on 127.0.0.2, which may be visited, to a canary on the same port of another address. */
async function lookOnLoopback(address: string, allowed: string): Promise<{ report: Report; connections: number }> {
  await using site = await startSite('127.0.0.2');
  await using canary = await startCanary(address, site.port);
  await using traveller = openTraveller(allowed, { lookup: changingAnswers(site, canary) });
  const report = await tryAllWays(traveller, site, canary);
  return { report, connections: canary.connections() };
}

function changingAnswers(site: Counted, canary: Counted) {
  const asked = new Map<string, number>();
  return async (name: string) => {
    const count = asked.get(name) ?? 0;
    asked.set(name, count + 1);
    return answersFor(name, count, site.address, canary.address).map((address) => ({ address }));
  };
}

function assertAllRefused({ direct, redirected, renamed }: Report): void {
  assert.ok(direct.length > 1 && redirected.length > 5 && renamed.length === 4);
  assert.deepEqual(new Set([...direct, ...redirected, ...renamed]), new Set(['refused_address']));
}

function assertAllReached({ direct, redirected, renamed }: Report): void {
  assert.deepEqual(new Set([...direct, ...redirected]), new Set(['canary']));
  // A name that has both addresses leads to the first of them.
  const [changed, , ...others] = renamed;
  assert.deepEqual(new Set([changed, ...others]), new Set(['canary']));
}

for (const address of ['127.0.0.1', '::1']) {
  test(`a server on ${address} sees no connection: by its address, by a redirect, by a name that changes`, async () => {
    const { report, connections } = await lookOnLoopback(address, '127.0.0.2');
    assertAllRefused(report);
    assert.equal(connections, 0);
  });

  test(`the same visits reach the server on ${address} once it is allowed, so the canary is alive`, async () => {
    const { report, connections } = await lookOnLoopback(address, `127.0.0.2,${address}`);
    assertAllReached(report);
    assert.ok(connections > 0);
  });
}

test('a name is looked up once per visit, and the address that was judged is the one that is dialled', async () => {
  await using site = await startSite('127.0.0.2');
  await using canary = await startCanary('127.0.0.1', site.port);
  let asked = 0;
  // A second lookup would lead to the canary.
  await using traveller = openTraveller('127.0.0.2', {
    lookup: async () => {
      asked += 1;
      return [{ address: asked === 1 ? site.address : canary.address }];
    },
  });
  assert.equal(await traveller.visit(`http://rebind.test:${site.port}/`), 'site');
  assert.deepEqual([asked, site.connections(), canary.connections()], [1, 1, 0]);
});

test('the metadata service of a cloud and the inside of the machine see no connection from public sites', async () => {
  const findings: Findings = JSON.parse(await runInNamespace(new URL('./canary-in-namespace.ts', import.meta.url)));
  assert.deepEqual(
    findings.guarded.map(({ canary, connections }) => `${canary} ${connections}`),
    ['169.254.169.254 0', '127.0.0.1 0', '::1 0'],
  );
  for (const { report } of findings.guarded) assertAllRefused(report);
  // The same with the canaries allowed shows that the rules kept us away, and not the network.
  assert.equal(findings.allowed.length, 3);
  for (const { canary, connections, report } of findings.allowed) {
    assertAllReached(report);
    assert.ok(connections > 0, canary);
  }
});
