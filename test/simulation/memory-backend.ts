import type { Clock } from '../../src/ports/clock.ts';
import { openMemoryHostShares } from '../support/memory/host-shares.ts';
import { openMemoryLeadership } from '../support/memory/leadership.ts';
import { openMemoryLedger } from '../support/memory/ledger.ts';
import { openMemoryResultStore } from '../support/memory/result-store.ts';
import { openMemoryQueue } from '../support/memory/work-queue.ts';
import type { Backend } from './backend.ts';
import type { Plant } from './plant.ts';

/** Separate services, as on AWS: they outlive every process of ours. */
export function openMemoryBackend(clock: Clock, plant: Plant): Backend {
  return {
    kind: 'memory',
    ledger: plant.ledger?.() ?? openMemoryLedger(),
    queue: openMemoryQueue(clock),
    leadership: openMemoryLeadership(),
    store: openMemoryResultStore(),
    shares: plant.shares?.() ?? openMemoryHostShares(),
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
