import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EmbeddedHostPauses } from '../../src/adapters/embedded/host-pauses.ts';
import { connectToOwner, type OwnerConnection } from '../../src/adapters/embedded/socket/socket-client.ts';
import { serveWorkers } from '../../src/adapters/embedded/socket/socket-server.ts';
import { EmbeddedWorkQueue } from '../../src/adapters/embedded/work-queue.ts';
import { workerSiteTools } from '../../src/main/site-data.ts';
import { NO_ITEM_WAITS } from '../../src/ports/item-waits.ts';
import type { Ledger, WorkerLeases } from '../../src/ports/ledger.ts';
import type { WorkQueue } from '../../src/ports/work-queue.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { openMemoryHostRecords } from '../support/memory/host-records.ts';
import { openMemoryHostSettings } from '../support/memory/host-settings.ts';
import { openMemoryHostShares } from '../support/memory/host-shares.ts';
import { openMemoryLedger } from '../support/memory/ledger.ts';
import { openMemoryRecordings } from '../support/memory/recordings.ts';
import { openMemorySiteData } from '../support/memory/site-data.ts';
import { openMemoryStepRecords } from '../support/memory/step-records.ts';
import { sized } from '../support/sized.ts';
import { hostPausesContract } from './host-pauses-contract.ts';
import { hostRecordsContract } from './host-records-contract.ts';
import { hostSettingsContract } from './host-settings-contract.ts';
import { hostSharesContract } from './host-shares-contract.ts';
import { ledgerContract } from './ledger-contract.ts';
import { pageCacheContract } from './page-cache-contract.ts';
import { pathErrorsContract } from './path-errors-contract.ts';
import { recordingsContract } from './recordings-contract.ts';
import { siteBookContract } from './site-book-contract.ts';
import { stepRecordsContract } from './step-records-contract.ts';
import { workQueueContract } from './work-queue-contract.ts';

/** An owner, and as many workers as are named: what workers do goes through a socket, the rest is done at the owner. */
async function openOwner() {
  const folder = await mkdtemp(join(tmpdir(), 'trawl-socket-'));
  const clock = new FakeClock();
  const ledger = openMemoryLedger();
  const queue = new EmbeddedWorkQueue(clock);
  const hostPauses = new EmbeddedHostPauses();
  const hostSettings = openMemoryHostSettings();
  const hostRecords = openMemoryHostRecords(ledger);
  const stepRecords = openMemoryStepRecords(ledger);
  const sites = openMemorySiteData();
  const recordingTools = openMemoryRecordings();
  const socketPath = join(folder, 'trawl.sock');
  const server = await serveWorkers({
    ledger,
    queue,
    hostPauses,
    hostSettings,
    hostShares: openMemoryHostShares(),
    hostRecords,
    stepRecords,
    itemWaits: NO_ITEM_WAITS,
    siteData: sites.siteData,
    recordings: recordingTools.recordings,
    socketPath,
    clock,
    onWorker() {},
  });
  const workers = new Map<string, Promise<OwnerConnection>>();
  return {
    clock,
    ledger,
    queue,
    hostPauses,
    hostSettings,
    hostRecords,
    stepRecords,
    sites,
    recordingTools,
    worker(workerId: string): Promise<OwnerConnection> {
      const { signal } = new AbortController();
      const known = workers.get(workerId) ?? connectToOwner({ socketPath, workerId, role: 'main', clock, signal });
      workers.set(workerId, known);
      return known;
    },
    async close() {
      for (const worker of workers.values()) await (await worker).close();
      await server.close();
      await rm(folder, { recursive: true });
    },
  };
}

type Owner = Awaited<ReturnType<typeof openOwner>>;

function ledgerOverSocket(owner: Owner): Ledger {
  const anybody = () => owner.worker('anybody');
  // A worker claims by taking, which is one call for queue and ledger: see test/adapters/socket.test.ts.
  const remote: Omit<WorkerLeases, 'claim'> = {
    workOrder: async (jobId) => (await anybody()).leases.workOrder(jobId),
    begin: async (token, seq) => (await anybody()).leases.begin(token, seq),
    renew: async (tokens, until) => (await anybody()).leases.renew(tokens, until),
    settle: async (parts, now) => (await anybody()).leases.settle(parts, now),
    reportControl: async (jobId, report, now) => (await anybody()).leases.reportControl(jobId, report, now),
    release: async (...args) => (await anybody()).leases.release(...args),
  };
  return new Proxy(owner.ledger, {
    get(local, name) {
      if (name in remote) return Reflect.get(remote, name);
      const value: unknown = Reflect.get(local, name);
      return typeof value === 'function' ? value.bind(local) : value;
    },
  });
}

ledgerContract(
  'memory over a socket',
  async () => {
    const owner = await openOwner();
    return { ledger: ledgerOverSocket(owner), close: owner.close };
  },
  { runs: sized({ quick: 3, slow: 20 }) },
);

workQueueContract('embedded over a socket', async () => {
  const owner = await openOwner();
  const { queue: remote, source, ...connection } = await owner.worker('worker-1');
  const queue: WorkQueue = {
    ...remote,
    // The ledger knows none of the batches, and says that they are gone: what is taken is what was received.
    receive: async (...args) => (await source.take(...args)).map(({ delivery }) => delivery),
    giveBack: (receipts) => owner.queue.giveBack(receipts),
    async send(refs) {
      // Calls to receive that were made before this is sent reach the owner before it.
      await remote.ack([]);
      return owner.queue.send(refs);
    },
    async depth() {
      await remote.ack([]);
      return owner.queue.depth();
    },
  };
  return {
    queue,
    async advance(ms) {
      await remote.ack([]);
      await owner.clock.advance(ms);
    },
    async close() {
      await connection.close();
      await owner.close();
    },
  };
});

hostPausesContract('embedded over a socket', async () => {
  const owner = await openOwner();
  return {
    hostPauses: {
      pause: async (report, worker, now) => (await owner.worker(worker)).hostPauses.pause(report, worker, now),
      inForce: async (now) => (await owner.worker('anybody')).hostPauses.inForce(now),
      lift: (host, now) => owner.hostPauses.lift(host, now),
    },
    close: owner.close,
  };
});

hostSettingsContract('memory, listed over a socket', async () => {
  const owner = await openOwner();
  const list = async () => (await owner.worker('anybody')).hostSettings.list();
  return { hostSettings: { ...owner.hostSettings, list }, close: owner.close };
});

hostSharesContract('a socket', async () => {
  const owner = await openOwner();
  return {
    hostShares: {
      reserve: async (process, asks, now) => (await owner.worker(process)).hostShares.reserve(process, asks, now),
    },
    close: owner.close,
  };
});

hostRecordsContract('memory, reported over a socket', async () => {
  const owner = await openOwner();
  const { ledger, hostRecords, close } = owner;
  const report = async (...args: Parameters<typeof hostRecords.report>) =>
    (await owner.worker('anybody')).hostRecords.report(...args);
  return { ledger, hostRecords: { ...hostRecords, report }, close };
});

stepRecordsContract('memory, reported over a socket', async () => {
  const owner = await openOwner();
  const { ledger, stepRecords, close } = owner;
  const report = async (...args: Parameters<typeof stepRecords.report>) =>
    (await owner.worker('anybody')).stepRecords.report(...args);
  return { ledger, stepRecords: { ...stepRecords, report }, close };
});

siteBookContract('memory, read over a socket', async () => {
  const owner = await openOwner();
  const get = async (id: string) => (await owner.worker('anybody')).siteData.sites.get(id);
  return { sites: { ...owner.sites.sites, get }, close: owner.close };
});

recordingsContract('memory, read over a socket', async () => {
  const owner = await openOwner();
  const { recordings, recordingBook } = owner.recordingTools;
  const { get } = (await owner.worker('anybody')).recordings;
  return { recordings: { ...recordings, get }, recordingBook, close: owner.close };
});

pageCacheContract('memory, used over a socket', async () => {
  const owner = await openOwner();
  const { pageCache, resultStore: store } = owner.sites;
  const remote = workerSiteTools((await owner.worker('anybody')).siteData, store);
  return {
    pageCache: { ...pageCache, ...remote.pageCache },
    bodies: async () => store.keys().length,
    close: owner.close,
  };
});

pathErrorsContract('memory, used over a socket', async () => {
  const owner = await openOwner();
  const { errors } = (await owner.worker('anybody')).siteData;
  return { pathErrors: { ...owner.sites.pathErrors, ...errors }, close: owner.close };
});
