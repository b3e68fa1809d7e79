import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { openEtlClient } from 'trawl/runs';
import { scrapeRun } from '../../examples/scrape-run.ts';
import { testChromium } from '../support/chromium.ts';
import { sized } from '../support/sized.ts';
import { openEtlServer } from './etl-server.ts';

const EXAMPLE = new URL('../../examples/scrape-run.ts', import.meta.url);
const PAGE = new URL('../../docs/scrape-runs.md', import.meta.url);

test('the program of the documentation: three browsers, URLs of four domains, an update each, and the end', async (t) => {
  await testChromium();
  const count = sized({ quick: 24, slow: 300 });
  const asked: string[] = [];
  const site = createServer((request, response) => {
    asked.push(`http://${request.headers.host}${request.url}`);
    response.writeHead(request.url === '/0' ? 404 : 200, { 'content-type': 'text/html' });
    response.end(`<title>${request.url}</title>`);
  }).listen(0, '127.0.0.1');
  await once(site, 'listening');
  t.after(() => {
    site.closeAllConnections();
    site.close();
  });
  const { port } = site.address() as AddressInfo;
  const urls = Array.from({ length: count }, (_, at) => `http://${'abcd'[at % 4]}.localhost:${port}/${at >> 2}`);
  const server = await openEtlServer(t);
  t.mock.method(console, 'log', () => {});
  const { ETL_API_ENDPOINT, ETL_API_KEY } = process.env;
  Object.assign(process.env, { ETL_API_ENDPOINT: server.endpoint, ETL_API_KEY: 'etl-secret' });
  t.after(() =>
    Object.assign(process.env, { ETL_API_ENDPOINT: ETL_API_ENDPOINT ?? '', ETL_API_KEY: ETL_API_KEY ?? '' }),
  );

  const stats = await scrapeRun('example.test', urls);
  assert.deepEqual([stats.total, stats.completed, stats.failed, stats.pending], [count, count - 4, 4, 0]);
  assert.equal(Object.keys(stats.byDomain).length, 4);
  const pages = asked.filter((url) => !url.endsWith('/favicon.ico'));
  assert.deepEqual(pages.sort(), [...urls].sort());
  const run = server.runs.get('run-1');
  assert.deepEqual([run?.status, run?.metadata['finished_count']], ['finished', count - 4]);
  assert.ok(run?.items.every(({ done, invalid }) => done !== (invalid === true)));
  assert.equal(server.seen.filter(({ line }) => line.startsWith('PATCH')).length, count + 1);
});

test('the program is the one that the documentation shows', () => {
  assert.ok(readFileSync(PAGE, 'utf8').includes(readFileSync(EXAMPLE, 'utf8')));
});

test('without settings a program learns what to set', () => {
  assert.throws(() => openEtlClient({ endpoint: '', apiKey: '' }), /set ETL_API_ENDPOINT to .*, and ETL_API_KEY/);
});
