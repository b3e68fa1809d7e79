import { FakeClock } from '../support/fake-clock.ts';
import { FoldingStore } from '../support/folding-store.ts';
import { openMemoryHostPauses } from '../support/memory/host-pauses.ts';
import { openMemoryHostRecords } from '../support/memory/host-records.ts';
import { openMemoryHostSettings } from '../support/memory/host-settings.ts';
import { openMemoryHostShares } from '../support/memory/host-shares.ts';
import { openMemoryLeadership } from '../support/memory/leadership.ts';
import { openMemoryLedger } from '../support/memory/ledger.ts';
import { openMemoryRecordings } from '../support/memory/recordings.ts';
import { openMemoryResultStore } from '../support/memory/result-store.ts';
import { openMemoryRuns } from '../support/memory/run-book.ts';
import { openMemorySiteData } from '../support/memory/site-data.ts';
import { openMemoryStepRecords } from '../support/memory/step-records.ts';
import { openMemoryQueue } from '../support/memory/work-queue.ts';
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
import { resultStoreContract } from './result-store-contract.ts';
import { runBookContract } from './run-book-contract.ts';
import { runOrdersContract } from './run-orders-contract.ts';
import { siteBookContract } from './site-book-contract.ts';
import { stepRecordsContract } from './step-records-contract.ts';
import { workQueueContract } from './work-queue-contract.ts';

const close = () => {};

ledgerContract('memory', async () => ({ ledger: openMemoryLedger(), close }), {
  runs: sized({ quick: 15, slow: 100 }),
});
resultStoreContract('memory', async () => ({ store: openMemoryResultStore(), close }));
resultStoreContract('a disk that folds case', async () => {
  return { store: new FoldingStore(openMemoryResultStore()), close };
});
leadershipContract('memory', async () => ({ leadership: openMemoryLeadership(), close }));
hostPausesContract('memory', async () => ({ hostPauses: openMemoryHostPauses(), close }));
hostSettingsContract('memory', async () => ({ hostSettings: openMemoryHostSettings(), close }));
hostSharesContract('memory', async () => ({ hostShares: openMemoryHostShares(), close }));
hostRecordsContract('memory', async () => {
  const ledger = openMemoryLedger();
  return { ledger, hostRecords: openMemoryHostRecords(ledger), close };
});
stepRecordsContract('memory', async () => {
  const ledger = openMemoryLedger();
  return { ledger, stepRecords: openMemoryStepRecords(ledger), close };
});
runBookContract('memory', async () => ({ runs: openMemoryRuns(), close }));
recordingsContract('memory', async () => ({ ...openMemoryRecordings(), close }));
siteBookContract('memory', async () => ({ ...openMemorySiteData(), close }));
pageCacheContract('memory', async () => {
  const store = openMemoryResultStore();
  return { ...openMemorySiteData(store), bodies: async () => store.keys().length, close };
});
pathErrorsContract('memory', async () => ({ ...openMemorySiteData(), close }));
runOrdersContract('memory', async () => ({ ...openMemorySiteData(), close }));
workQueueContract('memory', async () => {
  const clock = new FakeClock();
  return { queue: openMemoryQueue(clock), advance: (ms) => clock.advance(ms), close };
});
