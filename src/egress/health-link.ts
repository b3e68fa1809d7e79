import type { HeardHealth, LineNews } from '../domain/line-health.ts';

/** Connects a line with what this process knows about its host. */
export interface HealthLink {
  /** Whether there is news that must not wait for the next reservation. */
  isUrgent(): boolean;
  /** News for the other processes; null if there is none. */
  take(now: number): LineNews | null;
  /** The last news may not have arrived. */
  restore(): void;
  /** What all processes know; null if the host is well. */
  learn(heard: HeardHealth | null, askedAt: number): void;
}
