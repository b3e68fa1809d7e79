import type { LineLimits } from '../domain/line-limits.ts';

/** When the next request may start: in this many milliseconds, when another has ended, or when more was reserved. */
export type Readiness = number | 'until-one-leaves' | 'until-reserved';

/** What this process does on a line, by job: requests under way, and waiting callers. */
export abstract class Line {
  limits: LineLimits;
  /** Requests under way, in total. */
  inside = 0;
  readonly insideByJob = new Map<string, number>();
  readonly waitingByJob = new Map<string, number>();

  constructor(limits: LineLimits) {
    this.limits = limits;
  }

  abstract readyIn(now: number): Readiness;

  /** Resolves when the first reservation was answered, which takes a moment; null if it already was. */
  get opening(): Promise<void> | null {
    return null;
  }

  /** Among jobs with waiting callers, the one with the highest priority is next. */
  abstract priority(job: string): number;

  /** Callers wait, and the line is only ready then: `wake` is called when the reservation has changed. */
  abstract awaitReservation(wake: () => void, ready: Readiness, now: number): void;

  /** Whether a new line would be treated the same, and it is unused. */
  abstract isForgettable(now: number): boolean;

  /** Returns whether that changed anything. */
  setLimits(limits: LineLimits): boolean {
    const { maxConcurrent, requestsPerSecond, minDelayMs } = this.limits;
    const isSame =
      maxConcurrent === limits.maxConcurrent &&
      requestsPerSecond === limits.requestsPerSecond &&
      minDelayMs === limits.minDelayMs;
    if (isSame) return false;
    this.limits = limits;
    return true;
  }

  start(job: string, _now: number): void {
    this.inside += 1;
    this.insideByJob.set(job, (this.insideByJob.get(job) ?? 0) + 1);
  }

  end(job: string): void {
    this.inside -= 1;
    subtractOne(this.insideByJob, job);
  }

  addWaiter(job: string): void {
    this.waitingByJob.set(job, (this.waitingByJob.get(job) ?? 0) + 1);
  }

  dropWaiter(job: string): void {
    subtractOne(this.waitingByJob, job);
  }

  /** There may be news about the host for other processes. */
  spread(): void {}

  /** Ends timers. */
  close(): void {}
}

function subtractOne(counts: Map<string, number>, job: string): void {
  const count = counts.get(job) ?? 0;
  if (count > 1) counts.set(job, count - 1);
  else counts.delete(job);
}
