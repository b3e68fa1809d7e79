import assert from 'node:assert/strict';
import { siteSchema } from '../../src/domain/site.ts';
import { NO_SITE, type StoredSite } from '../../src/domain/stored-site.ts';
import type { SiteBook } from '../../src/ports/site-book.ts';
import { NOW } from '../support/builders.ts';
import { type Opened, type SuiteOptions, suite } from './suite.ts';

export interface SiteBookParts {
  readonly sites: SiteBook;
}

export function storedSite(id: string, version: string, more: Partial<StoredSite> = {}): StoredSite {
  const config = siteSchema.parse({ name: `Site "${id}"\u2028`, baseUrl: `https://${id}.test/docs` });
  return { id, version, config, source: 'api', changedAt: NOW, ...more };
}

/** Everything that the comments of `ports/site-book.ts` promise. `open` makes one without sites. */
export function siteBookContract(
  name: string,
  open: () => Promise<Opened<SiteBookParts>>,
  options: SuiteOptions = {},
): void {
  suite<SiteBookParts>(`sites on ${name}`, open, options, (add) => {
    add('what is set is listed by id and read as it was set, until it is removed', async ({ sites }) => {
      assert.deepEqual(await sites.list(), []);
      assert.equal(await sites.get('b'), null);
      const [a, b] = [storedSite('a', 'v1', { source: 'file' }), storedSite('b', 'v2')];
      for (const site of [b, a]) assert.equal(await sites.set(site), 'set');
      assert.deepEqual(await sites.list(), [a, b]);
      assert.deepEqual(await sites.get('b'), b);
      assert.equal(await sites.remove('b'), true);
      assert.equal(await sites.remove('b'), false);
      assert.deepEqual(await sites.list(), [a]);
    });

    add('a change replaces the configuration, and one for another version changes nothing', async ({ sites }) => {
      const first = storedSite('a', 'v1');
      assert.equal(await sites.set(first, 'v0'), 'other-version');
      for (const _ of [1, 2]) assert.equal(await sites.set(first, NO_SITE), 'set');
      assert.equal(await sites.set(storedSite('a', 'v2'), NO_SITE), 'other-version');
      assert.deepEqual(await sites.get('a'), first);
      const second = storedSite('a', 'v2', { changedAt: NOW + 1 });
      for (const _ of [1, 2]) assert.equal(await sites.set(second, 'v1'), 'set');
      const third = storedSite('a', 'v3');
      assert.equal(await sites.set(third), 'set');
      assert.deepEqual(await sites.list(), [third]);
    });

    add('of several simultaneous changes to one version, only one is made', async ({ sites }) => {
      const changes = Array.from({ length: 6 }, (_, at) => storedSite('a', `v${at}`));
      const answers = await Promise.all(changes.map((change) => sites.set(change, NO_SITE)));
      assert.equal(answers.filter((answer) => answer === 'set').length, 1);
      assert.deepEqual(await sites.get('a'), changes[answers.indexOf('set')]);
    });
  });
}
