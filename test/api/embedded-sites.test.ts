import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { SiteAnswer, SitesAnswer } from '../../src/contract/site-answers.ts';
import { whileLoading } from '../support/while-loading.ts';
import { startService } from './service.ts';
import { Client } from './suite/client.ts';
import { discoverCases } from './suite/discover-cases.ts';
import { siteCases } from './suite/site-cases.ts';
import { sitePageCases } from './suite/site-page-cases.ts';

await whileLoading(async () => {
  await siteCases(startService);
  await sitePageCases(startService, { knowsLanes: true });
  await discoverCases(startService);
});

const folder = mkdtempSync(join(tmpdir(), 'trawl-sites-'));
after(() => rmSync(folder, { recursive: true, force: true }));

test('sites from the file are there from the start, and those added by the API take precedence', async () => {
  const sitesFile = join(folder, 'sites.json');
  const dataDir = join(folder, 'data');
  const write = (sites: object) => writeFileSync(sitesFile, JSON.stringify({ sites }));
  const startHere = async () => {
    const service = await startService({ workers: 0, dataDir, sitesFile });
    return { service, client: await Client.of(service) };
  };
  const shown = async (client: Client) =>
    (await client.get<SitesAnswer>('/sites')).sites.map(({ site_id, source, config }) => [
      site_id,
      source,
      config.name,
    ]);

  write({ a: { baseUrl: 'https://a.test', name: 'A' }, b: { baseUrl: 'https://b.test', name: 'B' } });
  const first = await startHere();
  assert.deepEqual(await shown(first.client), [
    ['a', 'file', 'A'],
    ['b', 'file', 'B'],
  ]);
  const { version } = await first.client.get<SiteAnswer>('/sites/b');
  await first.client.refused(409, 'site_in_file', 'DELETE', '/sites/a');
  await first.client.ask('PUT', '/sites/a', { json: { baseUrl: 'https://a.test', name: 'mine' } });
  await first.client.ask('PUT', '/sites/c', { json: { baseUrl: 'https://c.test' } });
  await first.service.stop();

  write({ a: { baseUrl: 'https://a.test', name: 'A2' }, d: { baseUrl: 'https://d.test', name: 'D' } });
  const second = await startHere();
  assert.deepEqual(await shown(second.client), [
    ['a', 'api', 'mine'],
    ['c', 'api', undefined],
    ['d', 'file', 'D'],
  ]);
  assert.deepEqual((await second.client.ask('DELETE', '/sites/a')).json, {
    ...{ site_id: 'a', removed: true, restored: true },
  });
  assert.deepEqual((await shown(second.client))[0], ['a', 'file', 'A2']);
  const { version: unchanged } = await second.client.get<SiteAnswer>('/sites/d');
  await second.service.stop();

  const third = await startHere();
  assert.equal((await third.client.get<SiteAnswer>('/sites/d')).version, unchanged);
  assert.notEqual(version, unchanged);
});
