import type { HostGate, WorkerGate } from '../ports/host-gate.ts';
import type { Place } from './slots.ts';

/** The gate as lent to one batch of a job: while the batch waits to enter a host, its slot is free for others. */
export function parkingGate(gate: WorkerGate, job: string, place: Pick<Place, 'park'>): HostGate {
  return {
    async enter(host, patienceMs, signal) {
      const isOpen = gate.isOpen(host, job);
      const entering = gate.enter(host, patienceMs, signal, job);
      if (isOpen) return entering;
      const opening = gate.opening(host);
      const entered = opening === null ? null : await Promise.race([entering, opening.then(() => null)]);
      // A slot is not given up for the moment in which a host is opened.
      if (entered !== null) return entered;
      const goOn = place.park();
      try {
        return await entering;
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

/** The next item of the job may begin; null if it may now. While it waits, its slot is free for others. */
export function paceParked(
  gate: WorkerGate,
  job: string,
  place: Pick<Place, 'park'>,
  signal: AbortSignal,
): Promise<unknown> | null {
  const pacing = gate.paceItem(job, signal);
  return pacing === null ? null : pacing.finally(place.park());
}
