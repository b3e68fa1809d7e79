import assert from 'node:assert/strict';
import { type HostSettings, MAX_NOTE_LENGTH, NO_SETTINGS } from '../../src/domain/host-settings.ts';
import type { HostSettingsBook } from '../../src/ports/host-settings.ts';
import { NOW } from '../support/builders.ts';
import { type Opened, type SuiteOptions, suite } from './suite.ts';

export interface HostSettingsParts {
  readonly hostSettings: HostSettingsBook;
}

export function settingsFor(host: string, version: string, more: Partial<HostSettings> = {}): HostSettings {
  return {
    ...{ host, version, changedAt: NOW },
    ...{ maxConcurrent: null, requestsPerSecond: null, minDelayMs: null, note: null, pausedUntil: null },
    ...more,
  };
}

/** Everything that the comments of `ports/host-settings.ts` promise. `open` makes one without settings. */
export function hostSettingsContract(
  name: string,
  open: () => Promise<Opened<HostSettingsParts>>,
  options: SuiteOptions = {},
): void {
  suite<HostSettingsParts>(`settings of hosts on ${name}`, open, options, (add) => {
    const all = { maxConcurrent: 4, requestsPerSecond: 0.5, minDelayMs: 1500, pausedUntil: NOW + 1000 };
    const noted = settingsFor('b.gov:8080', 'v1', { ...all, note: 'a "note"\n\u2028 in words' });

    add('what is set is listed by host and read as it was set, until it is cleared', async ({ hostSettings }) => {
      assert.deepEqual(await hostSettings.list(), []);
      assert.equal(await hostSettings.get('b.gov:8080'), null);
      assert.equal(await hostSettings.set(noted), 'set');
      const six = settingsFor('[::1]', 'v2', { note: 'n'.repeat(MAX_NOTE_LENGTH) });
      assert.equal(await hostSettings.set(six), 'set');
      assert.deepEqual(await hostSettings.list(), [six, noted]);
      assert.deepEqual(await hostSettings.get('b.gov:8080'), noted);
      assert.equal(await hostSettings.get('b.gov'), null);
      assert.equal(await hostSettings.clear('b.gov:8080'), true);
      assert.equal(await hostSettings.clear('b.gov:8080'), false);
      assert.deepEqual(await hostSettings.list(), [six]);
    });

    add('a change replaces all that was set before', async ({ hostSettings }) => {
      await hostSettings.set(noted);
      const next = settingsFor('b.gov:8080', 'v2', { maxConcurrent: 1 });
      assert.equal(await hostSettings.set(next), 'set');
      assert.deepEqual(await hostSettings.list(), [next]);
    });

    add('a change that is for another version changes nothing', async ({ hostSettings }) => {
      const first = settingsFor('a.gov', 'v1', { maxConcurrent: 1 });
      assert.equal(await hostSettings.set(first, 'v0'), 'other-version');
      assert.deepEqual(await hostSettings.list(), []);
      assert.equal(await hostSettings.set(first, NO_SETTINGS), 'set');
      assert.equal(await hostSettings.set(settingsFor('a.gov', 'v2'), NO_SETTINGS), 'other-version');
      assert.equal(await hostSettings.set(settingsFor('a.gov', 'v2'), 'v0'), 'other-version');
      assert.deepEqual(await hostSettings.get('a.gov'), first);
      const second = settingsFor('a.gov', 'v2', { maxConcurrent: 2 });
      assert.equal(await hostSettings.set(second, 'v1'), 'set');
      assert.deepEqual(await hostSettings.get('a.gov'), second);
    });

    add('the same change made twice answers as the first time', async ({ hostSettings }) => {
      const first = settingsFor('a.gov', 'v1');
      for (const _ of [1, 2]) assert.equal(await hostSettings.set(first, NO_SETTINGS), 'set');
      const second = settingsFor('a.gov', 'v2');
      for (const _ of [1, 2]) assert.equal(await hostSettings.set(second, 'v1'), 'set');
      assert.deepEqual(await hostSettings.list(), [second]);
    });

    add('of several simultaneous changes to one version, only one is made', async ({ hostSettings }) => {
      const changes = Array.from({ length: 6 }, (_, at) => settingsFor('a.gov', `v${at}`));
      const answers = await Promise.all(changes.map((change) => hostSettings.set(change, NO_SETTINGS)));
      assert.equal(answers.filter((answer) => answer === 'set').length, 1);
      assert.deepEqual(await hostSettings.get('a.gov'), changes[answers.indexOf('set')]);
    });
  });
}
