import { Line, type Readiness } from './line.ts';

/** A line that no other process uses: all of it is ours, and nothing is reserved. */
export class SoleLine extends Line {
  #startedAt = Number.NEGATIVE_INFINITY;

  override readyIn(now: number): Readiness {
    const { maxConcurrent, requestsPerSecond, minDelayMs } = this.limits;
    if (maxConcurrent !== null && this.inside >= maxConcurrent) return 'until-one-leaves';
    const spacingMs = Math.max(minDelayMs, requestsPerSecond === null ? 0 : 1000 / requestsPerSecond);
    return Math.max(0, this.#startedAt + spacingMs - now);
  }

  override priority(job: string): number {
    return -(this.insideByJob.get(job) ?? 0);
  }

  override awaitReservation(): void {}

  override isForgettable(now: number): boolean {
    return this.inside === 0 && this.readyIn(now) === 0;
  }

  override start(job: string, now: number): void {
    super.start(job, now);
    this.#startedAt = now;
  }
}
