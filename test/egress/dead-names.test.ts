import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { startDns } from './dns-server.ts';
import { listenSomewhere } from './hostile-server.ts';
import { aRequest, aVisit, loopbackWeb, textOf } from './visits.ts';

/** Large enough to be inflated in the pool of threads. */
const PAGE = Buffer.from(Array.from({ length: 200_000 }, (_, at) => (at * 7919) % 251));

test('forty names whose DNS never answers fail by themselves, and hold up no other name and no large page', async (t) => {
  const server = createServer((_, response) => {
    response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(PAGE));
  });
  const port = await listenSomewhere(server);
  await using dns = await startDns('127.0.0.1');
  dns.answerWith((name) => (name.endsWith('.dead.test') ? 'silence' : ['127.0.0.1']));
  const web = loopbackWeb({ dnsServers: [dns.address] });
  t.after(async () => {
    await web.close();
    server.closeAllConnections();
    server.close();
  });
  const deadlines = { connectMs: 3000, firstByteMs: 3000, silenceMs: 3000, totalMs: 6000 };
  let deadEnded = 0;
  const visits = (domain: string) =>
    Array.from({ length: 40 }, async (_, at) => {
      const end = await web.send(aRequest(`http://host-${at}.${domain}:${port}/`), aVisit({ deadlines }));
      return end.kind === 'answer' ? `${end.bytes} bytes` : textOf(end);
    });
  const dead = visits('dead.test').map((visit) => visit.finally(() => (deadEnded += 1)));
  const good = await Promise.all(visits('good.test'));
  assert.deepEqual([...new Set(good)], [`${PAGE.length} bytes`]);
  assert.equal(deadEnded, 0, 'the others waited for the names that hang');
  for (const end of await Promise.all(dead)) assert.match(end, /^timeout: /);
});
