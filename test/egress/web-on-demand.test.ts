import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, test } from 'node:test';
import { systemClock } from '../../src/adapters/system/clock.ts';
import { parseAddressRanges } from '../../src/egress/address-range.ts';
import { AddressRules } from '../../src/egress/address-rules.ts';
import { parseRoutes } from '../../src/egress/routes.ts';
import { openWebOnDemand } from '../../src/main/web-on-demand.ts';
import { aRequest, aVisit, textOf } from './visits.ts';

const server = createServer((_, response) => response.end('here')).listen(0, '127.0.0.1');
await once(server, 'listening');
after(() => server.close());

function onDemand() {
  const rules = new AddressRules(parseAddressRanges('loopback'));
  return openWebOnDemand({ rules, routes: parseRoutes(''), clock: systemClock() });
}

function request() {
  return aRequest(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
}

test('a web that is opened on demand answers the first requests and the later ones', async () => {
  const web = onDemand();
  const first = await Promise.all([web.send(request(), aVisit()), web.send(request(), aVisit())]);
  assert.deepEqual(first.map(textOf), ['here', 'here']);
  assert.equal(textOf(await web.send(request(), aVisit())), 'here');
  await web.close();
});

test('one that is closed before it was opened sends nothing', async () => {
  const web = onDemand();
  await web.close();
  const end = await web.send(request(), aVisit());
  assert.equal(end.kind, 'failed', textOf(end));
});
