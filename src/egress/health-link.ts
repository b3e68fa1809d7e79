import type { HeardHealth, LineNews } from '../domain/line-health.ts';

/** Between a line and what this process knows of its host. */
export interface HealthLink {
  /** Whether there are news that must not wait until something is to be reserved. */
  isUrgent(): boolean;
  /** What the others are to know; null if there is nothing. */
  take(now: number): LineNews | null;
  /** What was taken last may not have arrived. */
  restore(): void;
  /** What all of them know; null if the host is well. */
  learn(heard: HeardHealth | null, askedAt: number): void;
}
