import { openMemoryLeadership } from '../../src/adapters/memory/leadership.ts';
import { openMemoryLedger } from '../../src/adapters/memory/ledger.ts';
import { openMemoryResultStore } from '../../src/adapters/memory/result-store.ts';
import { openMemoryQueue } from '../../src/adapters/memory/work-queue.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { Backend } from './backend.ts';
import type { Plant } from './plant.ts';

/** Services of their own, as on AWS: they outlive every process of ours. */
export function openMemoryBackend(clock: Clock, plant: Plant): Backend {
  return {
    kind: 'memory',
    ledger: plant.ledger?.() ?? openMemoryLedger(),
    queue: openMemoryQueue(clock),
    leadership: openMemoryLeadership(),
    store: openMemoryResultStore(),
    isAway: false,
    owner: null,
    life: 1,
    hasLostWrites: false,
    probe: async () => {},
    closed: async () => {},
    during: (run) => run(),
    dispose() {},
  };
}
