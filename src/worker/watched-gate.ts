import type { Clock } from '../ports/clock.ts';
import type { HostGate } from '../ports/host-gate.ts';

/** Told of every request, for the record of what a job did at each host. */
export interface RequestWatch {
  /** False if it does not watch that host, and is not to be told of the end of the request. */
  started(host: string, job: string, now: number): boolean;
  ended(host: string, job: string, now: number): void;
  paused(host: string, now: number, until: number): void;
}

/** The gate as lent to one job. */
export function watchedGate(gate: HostGate, job: string, watch: RequestWatch, clock: Pick<Clock, 'now'>): HostGate {
  return {
    async enter(host, patienceMs, signal) {
      const leave = await gate.enter(host, patienceMs, signal);
      let isInside = watch.started(host, job, clock.now());
      return () => {
        if (isInside) watch.ended(host, job, clock.now());
        isInside = false;
        leave();
      };
    },
    hold(host, ms, why) {
      const now = clock.now();
      if (ms > 0) watch.paused(host, now, now + ms);
      gate.hold(host, ms, why);
    },
    noteTrouble: (host) => gate.noteTrouble(host),
    noteAnswer: (host, answer, why) => gate.noteAnswer(host, answer, why),
    pauseOf: (host) => gate.pauseOf(host),
    takeRetry: (host) => gate.takeRetry(host),
  };
}
