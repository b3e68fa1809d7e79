import { parseAddress } from '../../src/domain/result-address.ts';
import { type ResultStore, type StoredBytes, UNWATCHED } from '../../src/ports/result-store.ts';
import { StorageTrouble } from '../../src/ports/storage-trouble.ts';
import { SimFault } from './network.ts';
import type { Sim } from './sim.ts';
import type { SimProcess } from './sim-process.ts';

const MOST_SLOW_MS = 8000;

/** A call to the store may be on its way for this long, and still arrive. */
export const LONGEST_CALL_MS = 20_000 + 10_000 + 100;

function oneStep() {
  let steps = 0;
  return {
    mayGoOn: () => {
      steps += 1;
      return steps === 1;
    },
    onClear() {},
  };
}

/** The result store as one process sees it: slow, full or failing now and then. */
export function storeFor(process: SimProcess, sim: Sim): ResultStore {
  const { backend, faults, network, oracle, dice } = sim;

  function trouble(): Error | null {
    const full = sim.disk.storeTrouble();
    if (full !== null) return full;
    if (faults.strikes('store-trouble', 0.5)) return new StorageTrouble('io', 'simulated: the write failed');
    return faults.strikes('store-error', 0.3) ? new SimFault('put: something went wrong') : null;
  }

  /** The ledger came back from a backup and the store did not: a forgotten attempt was kept under this key. */
  async function takeKey(key: string): Promise<void> {
    // A name that no other attempt can have is never taken.
    if (/\/attempt-\d+-[0-9a-f]{16}\//.test(key)) return;
    if (!faults.isOn('store-key-taken') || (await backend.store.get(key)) !== null) return;
    if (!faults.strikes('store-key-taken')) return;
    const forgotten = new TextEncoder().encode(`forgotten bytes of ${key}`);
    await backend.store.put(key, forgotten, { contentType: 'text/plain', encoding: 'identity', ifTaken: 'keep' });
  }

  return {
    put: (key, body, how) =>
      network.call(process, {
        name: 'put',
        said: `${key} ${body instanceof Uint8Array ? body.length : body.size}`,
        trouble,
        slowMs: () => (process.hasPatientTransport && faults.strikes('store-slow') ? dice.logBetween(50, 10_000) : 0),
        run: alive(async () => {
          if (how.ifTaken === 'keep') await takeKey(key);
          return backend.store.put(key, body, how);
        }),
        show: ({ sha256 }) => sha256.slice(0, 8),
        applied: ({ sha256 }) => oracle.stored(key, sha256),
      }),
    // Called on `this`, so that a bug planted in `put` is in here too.
    async putAll(puts) {
      const stored: StoredBytes[] = [];
      for (const { key, body, ...how } of puts) stored.push(await this.put(key, body, how));
      return stored;
    },
    draft: () => backend.store.draft(),
    get: (at) =>
      network.call(process, {
        name: 'get',
        said: parseAddress(at).key,
        run: () => backend.store.get(at),
        show: (body) => String(body?.length ?? null),
      }),
    open: (at, range) =>
      network.call(process, {
        name: 'open',
        said: range === null ? parseAddress(at).key : `${parseAddress(at).key} ${range.start}-${range.end}`,
        run: () => backend.store.open(at, range),
        show: (body) => (body === null ? 'null' : 'open'),
      }),
    /** Removes a few keys at a time, each time in a separate call, which may be slow. */
    async removeAll(prefix, watch = UNWATCHED) {
      while (watch.mayGoOn()) {
        const isClear = await network.call(process, {
          name: 'removeAll',
          said: prefix,
          trouble: () => (faults.strikes('store-trouble', 0.5) ? new StorageTrouble('io', 'simulated: not now') : null),
          slowMs: () => (faults.strikes('removal-slow', 6) ? dice.logBetween(200, MOST_SLOW_MS) : 0),
          run: alive(async () => (await backend.store.removeAll(prefix, oneStep())) !== null),
          show: (clear) => (clear ? 'clear' : 'some'),
          applied: (clear) => clear && oracle.cleared(prefix),
        });
        if (!isClear) continue;
        watch.onClear();
        return 0;
      }
      return null;
    },
  };

  /** Where results are files of the machine, what a process has not written when it dies is never written. */
  function alive<T>(run: () => Promise<T>): () => Promise<T> {
    return async () => {
      if (backend.kind === 'sqlite' && process.isOver) throw new SimFault('its process is dead');
      return await run();
    };
  }
}
