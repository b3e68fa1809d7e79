import type { ResultStore, StoredBytes } from '../../src/ports/result-store.ts';
import { StorageTrouble } from '../../src/ports/storage-trouble.ts';
import { SimFault } from './network.ts';
import type { Sim } from './sim.ts';
import type { SimProcess } from './sim-process.ts';

/** The result store as one process sees it: slow, full or failing now and then. */
export function storeFor(process: SimProcess, sim: Sim): ResultStore {
  const { backend, faults, network, oracle, dice } = sim;

  function trouble(): Error | null {
    const full = sim.disk.storeTrouble();
    if (full !== null) return full;
    if (faults.strikes('store-trouble', 0.5)) return new StorageTrouble('io', 'simulated: the write failed');
    return faults.strikes('store-error', 0.3) ? new SimFault('put: something went wrong') : null;
  }

  return {
    put: (key, body, how) =>
      network.call(process, {
        name: 'put',
        said: `${key} ${body instanceof Uint8Array ? body.length : body.size}`,
        trouble,
        // A part of an index that a former leader sent, and that arrives when a newer one is recorded, takes its place:
        // all rounds lie under the same keys. Readers see that by the hash; here it is kept out.
        isPrompt: !process.hasPatientTransport,
        slowMs: () => (process.hasPatientTransport && faults.strikes('store-slow') ? dice.logBetween(50, 10_000) : 0),
        run: () => backend.store.put(key, body, how),
        show: ({ sha256 }) => sha256.slice(0, 8),
        applied: ({ sha256 }) => oracle.stored(key, sha256),
      }),
    // By `this`, so that a bug planted in `put` is in here too.
    async putAll(puts) {
      const stored: StoredBytes[] = [];
      for (const { key, body, ...how } of puts) stored.push(await this.put(key, body, how));
      return stored;
    },
    draft: () => backend.store.draft(),
    get: (key) =>
      network.call(process, {
        name: 'get',
        said: key,
        run: () => backend.store.get(key),
        show: (body) => String(body?.length ?? null),
      }),
    open: (key, range) =>
      network.call(process, {
        name: 'open',
        said: range === null ? key : `${key} ${range.start}-${range.end}`,
        run: () => backend.store.open(key, range),
        show: (body) => (body === null ? 'null' : 'open'),
      }),
    removeAll: (prefix) =>
      network.call(process, {
        name: 'removeAll',
        said: prefix,
        run: () => backend.store.removeAll(prefix),
        show: String,
      }),
  };
}
