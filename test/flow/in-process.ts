import { hash } from 'node:crypto';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openEmbeddedLedger } from '../../src/adapters/embedded/ledger.ts';
import { type Disk, openFileResultStore } from '../../src/adapters/embedded/result-store.ts';
import { EmbeddedWorkQueue } from '../../src/adapters/embedded/work-queue.ts';
import { systemClock } from '../../src/adapters/system/clock.ts';
import { Controller } from '../../src/controller/engine/controller.ts';
import { EventStream } from '../../src/controller/engine/events.ts';
import { submitJob } from '../../src/controller/jobs/submit.ts';
import { NO_PRICES } from '../../src/domain/prices.ts';
import { recordingTools } from '../../src/main/recording-tools.ts';
import { NO_FAULTS } from '../../src/ports/faults.ts';
import type { Ledger, WorkerLeases } from '../../src/ports/ledger.ts';
import type { ResultStore } from '../../src/ports/result-store.ts';
import { StorageTrouble } from '../../src/ports/storage-trouble.ts';
import { loadScrapers } from '../../src/scraping/registry.ts';
import { receiveAndClaim } from '../../src/worker/receive-and-claim.ts';
import { Worker } from '../../src/worker/worker.ts';
import { openFileCatalog } from '../support/file-catalog.ts';
import { inProcessHeartbeat } from '../support/in-process-heartbeat.ts';
import { NO_TOOLS } from '../support/no-tools.ts';

interface Trouble {
  readonly sync?: () => Promise<void>;
  readonly disk?: Disk;
  /** What the engine sees instead of the files. */
  readonly store?: (files: ResultStore) => ResultStore;
}

/** The real engine on real files in this process, so that a test can make the disk fail under it. */
export async function openEngineHere(dataDir: string, trouble: Trouble = {}) {
  const clock = systemClock();
  const { sync, disk } = trouble;
  const embedded = openEmbeddedLedger({ dataDir, clock, ...(sync ? { sync } : {}) });
  const { ledger, leadership } = embedded;
  const files = await openFileResultStore(join(dataDir, 'results'), { clock, ...(disk ? { disk } : {}) });
  const store = trouble.store?.(files) ?? files;
  const scrapers = await loadScrapers([fileURLToPath(new URL('../../scrapers', import.meta.url))]);
  const queue = new EmbeddedWorkQueue(clock);
  const events = new EventStream();
  const digest = (text: string) => hash('sha256', text);
  const tools = recordingTools(embedded);
  const shared = { ledger, leadership, store, queue, clock, digest, faults: NO_FAULTS, events, ...tools };
  const controller = new Controller({
    ...shared,
    holder: 'here',
    makeRoom: async () => {},
    async probe() {
      await embedded.probe();
      await files.probe();
    },
    settings: {
      leaseMs: LEASE_MS,
      lostAfterMs: 60_000,
      leadMs: 10_000,
      handoverMs: 0,
      reapMs: 100,
      pollMs: 1000,
      probeMs: 50,
      itemsPerBatch: 1,
      itemManifests: true,
    },
  });
  const problems: unknown[] = [];
  const onTrouble = (error: unknown) => problems.push(error);
  const hands = {
    ...shared,
    id: 'worker-here',
    leases: tellingOfTrouble(ledger, (message) => controller.storageTrouble(message)),
    onError: (_: string, error: unknown) => onTrouble(error),
  };
  const worker = new Worker({
    ...hands,
    source: receiveAndClaim(hands),
    scrapers,
    tools: NO_TOOLS,
    onWait() {},
    onSteps() {},
    isStillHeld: async () => true,
    heartbeat: inProcessHeartbeat({ leases: ledger, queue, clock, leaseMs: LEASE_MS, onTrouble }),
    settings: { lane: 'http', slots: 8, leaseMs: LEASE_MS, drainGraceMs: 2000, settleEveryMs: 0, orderGoodMs: 500 },
  });
  const stop = new AbortController();
  controller.start();
  const working = worker.run(stop.signal);
  return {
    clock,
    ledger,
    store,
    files,
    events,
    queue,
    controller,
    embedded,
    submit: (request: unknown) =>
      submitJob(
        { ...shared, catalog: openFileCatalog(scrapers, tools), defaultScraper: 'example-mock', prices: NO_PRICES },
        request,
        null,
      ),
    async stop() {
      stop.abort();
      await working;
      await controller.stop();
      await embedded.close();
    },
  };
}

const LEASE_MS = 4000;

/** As the owner's end of a worker's connection does: a worker cannot know whom to tell. */
function tellingOfTrouble(ledger: Ledger, tell: (message: string) => void): WorkerLeases {
  const telling = async <T>(answer: Promise<T>): Promise<T> => {
    try {
      return await answer;
    } catch (error) {
      if (error instanceof StorageTrouble) tell(error.message);
      throw error;
    }
  };
  return {
    claim: (...args) => telling(ledger.claim(...args)),
    workOrder: (...args) => ledger.workOrder(...args),
    begin: (...args) => telling(ledger.begin(...args)),
    renew: (...args) => telling(ledger.renew(...args)),
    settle: (...args) => telling(ledger.settle(...args)),
    release: (...args) => telling(ledger.release(...args)),
    reportControl: (...args) => telling(ledger.reportControl(...args)),
  };
}
