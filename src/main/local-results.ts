import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { PRIVATE_FOLDER, RESULTS_FOLDER, RESULTS_NOTE } from '../adapters/embedded/data-directory.ts';
import { openFileResultStore } from '../adapters/embedded/result-store.ts';
import type { Opening } from '../adapters/embedded/results/result-home.ts';
import { resultPath } from '../adapters/embedded/results/result-path.ts';
import type { Config } from '../config.ts';
import type { Clock } from '../ports/clock.ts';
import type { OpenResults, ResultsModule, ResultsRole } from './results-backend.ts';

/** Results as files in the data directory. */
export const LOCAL_RESULTS_MODULE: ResultsModule<'local'> = {
  describe: ({ dataDir }) => ({ data_dir: dataDir }),
  open: openFiles,

  async openExisting(config, clock) {
    const folder = resultsFolder(config);
    // Opening a store would create its folder.
    if (!existsSync(folder)) return { kind: 'none', message: `there are no results in ${config.dataDir}` };
    const store = await openFileResultStore(folder, { clock, opening: { as: 'guest' } });
    return { kind: 'found', store, close: () => {} };
  },

  async inspect({ dataDir }) {
    const { checkDataDir, checkResultsFolder } = await import('./data-directory-checks.ts');
    return [await checkDataDir(dataDir), await checkResultsFolder(dataDir)];
  },
};

async function openFiles(config: Config, clock: Clock, as: ResultsRole): Promise<OpenResults> {
  await mkdir(config.dataDir, { recursive: true, mode: PRIVATE_FOLDER });
  const opening: Opening = as === 'owner' ? { as, noteFile: join(config.dataDir, RESULTS_NOTE) } : { as };
  const store = await openFileResultStore(resultsFolder(config), { clock, opening });
  return {
    store,
    links: null,
    pathOf({ key, encoding }) {
      const { folders, names } = resultPath(key);
      return [...folders, names[encoding]].join('/');
    },
    hasItemManifests: true,
    check: (artifact) => store.check(artifact),
    probe: () => store.probe(),
    async sweep() {
      await store.sweep();
    },
    sweepEvery: (everyMs, signal, onTrouble) => store.sweepEvery(everyMs, signal, onTrouble),
    close() {},
  };
}

function resultsFolder({ dataDir }: Pick<Config, 'dataDir'>): string {
  return join(dataDir, RESULTS_FOLDER);
}
