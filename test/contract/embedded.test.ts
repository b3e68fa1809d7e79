import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EmbeddedHostPauses } from '../../src/adapters/embedded/host-pauses.ts';
import { openEmbeddedLedger } from '../../src/adapters/embedded/ledger.ts';
import { openFileResultStore } from '../../src/adapters/embedded/result-store.ts';
import { recordingTools } from '../../src/main/recording-tools.ts';
import { siteTools } from '../../src/main/site-data.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { sized } from '../support/sized.ts';
import { hostPausesContract } from './host-pauses-contract.ts';
import { hostRecordsContract } from './host-records-contract.ts';
import { hostSettingsContract } from './host-settings-contract.ts';
import { hostSharesContract } from './host-shares-contract.ts';
import { leadershipContract } from './leadership-contract.ts';
import { ledgerContract } from './ledger-contract.ts';
import { pageCacheContract } from './page-cache-contract.ts';
import { pathErrorsContract } from './path-errors-contract.ts';
import { recordingsContract } from './recordings-contract.ts';
import { runBookContract } from './run-book-contract.ts';
import { runOrdersContract } from './run-orders-contract.ts';
import { siteBookContract } from './site-book-contract.ts';
import { stepRecordsContract } from './step-records-contract.ts';

/** A real database each. Whether the disk is waited for is not what these suites are about, so it is not. */
async function openTemporary() {
  const dataDir = mkdtempSync(join(tmpdir(), 'trawl-ledger-'));
  const opened = openEmbeddedLedger({ dataDir, clock: new FakeClock(), sync: async () => {} });
  return {
    ...opened,
    async close() {
      await opened.close();
      rmSync(dataDir, { recursive: true });
    },
  };
}

ledgerContract('embedded', openTemporary, { runs: sized({ quick: 5, slow: 50 }) });
leadershipContract('embedded', openTemporary);
hostSettingsContract('embedded', openTemporary);
hostSharesContract('embedded', openTemporary);
hostRecordsContract('embedded', openTemporary);

stepRecordsContract('embedded', openTemporary);
hostPausesContract('embedded', async () => ({ hostPauses: new EmbeddedHostPauses(), close() {} }));
runBookContract('embedded', openTemporary);
siteBookContract('embedded', openTemporary);
recordingsContract('embedded', async () => {
  const opened = await openTemporary();
  return { ...recordingTools(opened), close: opened.close };
});

/** With a folder of results beside the database. */
async function openWithResults() {
  const root = mkdtempSync(join(tmpdir(), 'trawl-results-'));
  const store = await openFileResultStore(root, { clock: new FakeClock() });
  const { close, ...opened } = await openTemporary();
  return {
    ...siteTools(opened, store),
    bodies: async () => readdirSync(root, { recursive: true, encoding: 'utf8' }).filter(isBody).length,
    async close() {
      await close();
      rmSync(root, { recursive: true });
    },
  };
}

const isBody = (file: string) => /cache~0+\/.*\.md\.zst$/.test(file);

pageCacheContract('embedded', openWithResults);
pathErrorsContract('embedded', openWithResults);
runOrdersContract('embedded', openWithResults);
