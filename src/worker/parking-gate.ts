import type { HostGate, WorkerGate } from '../ports/host-gate.ts';
import type { Place } from './slots.ts';

/** The gate as lent to one batch: while the batch waits to enter a host, its slot is free for others. */
export function parkingGate(gate: WorkerGate, place: Pick<Place, 'park'>): HostGate {
  return {
    async enter(host, patienceMs, signal) {
      if (gate.isOpen(host)) return gate.enter(host, patienceMs, signal);
      const goOn = place.park();
      try {
        return await gate.enter(host, patienceMs, signal);
      } finally {
        goOn();
      }
    },
    hold: (host, ms, why) => gate.hold(host, ms, why),
    noteTrouble: (host) => gate.noteTrouble(host),
    noteAnswer: (host, answer, why) => gate.noteAnswer(host, answer, why),
    pauseOf: (host) => gate.pauseOf(host),
    takeRetry: (host) => gate.takeRetry(host),
  };
}
