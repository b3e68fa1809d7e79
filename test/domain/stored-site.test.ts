import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Site, siteSchema } from '../../src/domain/site.ts';
import { planSiteImport, type StoredSite } from '../../src/domain/stored-site.ts';
import { NOW } from '../support/builders.ts';

function site(id: string, name = id): Site {
  return { id, config: siteSchema.parse({ baseUrl: `https://${id}.test`, name }) };
}

function stored(source: StoredSite['source'], of: Site): StoredSite {
  return { ...of, source, changedAt: NOW, version: 'v1' };
}

const file = (...sites: readonly Site[]) => new Map(sites.map((each) => [each.id, each]));

test('the file adds and changes what came from a file, and leaves what was set through the API', () => {
  const known = [stored('file', site('same')), stored('file', site('old')), stored('api', site('mine'))];
  const changed = [site('old', 'new'), site('mine', 'of the file'), site('added')];
  const { set, remove } = planSiteImport(known, file(site('same'), ...changed));
  assert.deepEqual(
    set.map(({ id }) => id),
    ['old', 'added'],
  );
  assert.deepEqual(remove, []);
});

test('what came from a file and is no longer in that file is removed', () => {
  const known = [stored('file', site('gone')), stored('api', site('mine')), stored('file', site('same'))];
  assert.deepEqual(planSiteImport(known, file(site('same'))), { set: [], remove: ['gone'] });
});
