import { createServer } from 'node:net';
import { errorMessage } from '../../../domain/error-message.ts';
import type { Lane } from '../../../domain/lane.ts';
import type { Clock } from '../../../ports/clock.ts';
import type { WorkerHostPauses } from '../../../ports/host-pauses.ts';
import type { WorkerHostRecords } from '../../../ports/host-records.ts';
import type { WorkerHostSettings } from '../../../ports/host-settings.ts';
import type { HostShares } from '../../../ports/host-shares.ts';
import type { ItemWaits } from '../../../ports/item-waits.ts';
import type { WorkerRecordings } from '../../../ports/kept-recordings.ts';
import type { LeaseBook, WorkerLeases } from '../../../ports/ledger.ts';
import type { WorkerSiteData } from '../../../ports/site-data.ts';
import type { WorkerStepRecords } from '../../../ports/step-records.ts';
import type { StorageTrouble } from '../../../ports/storage-trouble.ts';
import type { WorkerQueue } from '../../../ports/work-queue.ts';
import { listenPrivately } from './private-socket.ts';
import { WITHOUT_A_WORD, WorkerConnection } from './worker-connection.ts';

export interface ServeDeps {
  readonly ledger: WorkerLeases & Pick<LeaseBook, 'abandon'>;
  readonly queue: WorkerQueue;
  readonly hostPauses: WorkerHostPauses;
  readonly hostSettings: WorkerHostSettings;
  readonly hostShares: HostShares;
  readonly hostRecords: WorkerHostRecords;
  readonly stepRecords: WorkerStepRecords;
  readonly itemWaits: ItemWaits;
  readonly siteData: WorkerSiteData;
  readonly recordings: WorkerRecordings;
  readonly socketPath: string;
  readonly clock: Clock;
  readonly onWorker: (event: WorkerEvent) => void;
}

export type WorkerEvent =
  | { readonly kind: 'worker-joined'; readonly worker: string }
  /** `abandoned`: leases that were ended in the ledger, because the worker did not say that it has none left. */
  | { readonly kind: 'worker-left'; readonly worker: string; readonly reason: string; readonly abandoned: number }
  /** A worker got this error; the owner of the ledger should know, too. */
  | { readonly kind: 'storage-trouble'; readonly message: string }
  /** A peer that was not a worker, or a worker whose connection failed. */
  | { readonly kind: 'connection-trouble'; readonly worker: string | null; readonly reason: string };

export interface WorkerServer {
  /** Lanes that connected workers serve. */
  lanes(): ReadonlySet<Lane>;
  /** Ends every connection and abandons nothing: active workers may find the next owner in time. */
  close(): Promise<void>;
}

/**
 * Serves ledger and queue to worker processes over a socket that only this user may open. The caller must already own
 * the ledger: a socket that does not answer is assumed to be left over from a dead owner, and is replaced.
 */
export async function serveWorkers(deps: ServeDeps): Promise<WorkerServer> {
  const workers = new ConnectedWorkers(deps);
  const server = createServer((socket) => workers.add(new WorkerConnection(socket, workers.connectionDeps)));
  await listenPrivately(server, deps.socketPath);
  server.on('error', ({ message }) => deps.onWorker({ kind: 'connection-trouble', worker: null, reason: message }));
  return {
    lanes: () => workers.lanes(),
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      await workers.endAll();
      await closed;
    },
  };
}

class ConnectedWorkers {
  readonly connectionDeps;
  readonly #deps: ServeDeps;
  readonly #connections = new Set<WorkerConnection>();
  readonly #endings = new Set<Promise<void>>();
  #isClosing = false;

  constructor(deps: ServeDeps) {
    this.#deps = deps;
    const onGreeted = ({ who }: WorkerConnection) => {
      if (who?.role === 'main') deps.onWorker({ kind: 'worker-joined', worker: who.worker });
    };
    const onStorageTrouble = ({ message }: StorageTrouble) => deps.onWorker({ kind: 'storage-trouble', message });
    const onLostCall = ({ who }: WorkerConnection, error: unknown) => {
      const reason = `something that it reported was not recorded: ${errorMessage(error)}`;
      deps.onWorker({ kind: 'connection-trouble', worker: who?.worker ?? null, reason });
    };
    this.connectionDeps = { ...deps, onGreeted, onStorageTrouble, onLostCall };
  }

  add(connection: WorkerConnection): void {
    if (this.#isClosing) connection.cut('the owner stops');
    this.#connections.add(connection);
    const ending = this.#follow(connection).finally(() => this.#endings.delete(ending));
    this.#endings.add(ending);
  }

  lanes(): ReadonlySet<Lane> {
    return new Set([...this.#connections].flatMap(({ lane }) => lane ?? []));
  }

  async endAll(): Promise<void> {
    this.#isClosing = true;
    for (const connection of this.#connections) connection.cut('the owner stops');
    await Promise.all(this.#endings);
  }

  async #follow(connection: WorkerConnection): Promise<void> {
    const reason = await connection.ended;
    this.#connections.delete(connection);
    const { who, saidBye, unfinished } = connection;
    if (who?.role !== 'main') {
      const isTrouble = !saidBye && reason !== WITHOUT_A_WORD && !this.#isClosing;
      if (isTrouble) this.#deps.onWorker({ kind: 'connection-trouble', worker: who?.worker ?? null, reason });
      return;
    }
    this.#deps.itemWaits.forget(who.worker);
    const abandoned = saidBye || this.#isClosing || this.#isConnected(who.worker) ? 0 : await this.#abandon(who.worker);
    this.#deps.onWorker({ kind: 'worker-left', worker: who.worker, reason, abandoned });
    await this.#deps.queue.giveBack(unfinished);
  }

  /** A worker that lost its connection and came back at once is not dead. */
  #isConnected(worker: string): boolean {
    return [...this.#connections].some(({ who }) => who?.role === 'main' && who.worker === worker);
  }

  /** If the ledger cannot write now, the leases expire later. */
  async #abandon(worker: string): Promise<number> {
    try {
      return await this.#deps.ledger.abandon(worker, this.#deps.clock.now());
    } catch (error) {
      const reason = `its leases will expire: ${errorMessage(error)}`;
      this.#deps.onWorker({ kind: 'connection-trouble', worker, reason });
      return 0;
    }
  }
}
