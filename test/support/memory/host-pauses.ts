import { PauseBook } from '../../../src/domain/host-pause.ts';
import type { HostPauses } from '../../../src/ports/host-pauses.ts';

export function openMemoryHostPauses(): HostPauses {
  const book = new PauseBook();
  return {
    pause: async (report, worker, now) => book.pause(report, worker, now),
    inForce: async (now) => book.inForce(now),
    lift: async (host, now) => book.lift(host, now),
  };
}
