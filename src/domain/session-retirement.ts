/** When to retire a browser session. Browsers grow: memory used by a thousand pages is never given back. */

export interface SessionLimits {
  readonly maxItems: number;
  readonly maxAgeMs: number;
  readonly maxMemoryBytes: number;
  /** It is closed after this long without an item. */
  readonly idleMs: number;
}

export interface SessionUse {
  /** Items begun in it. */
  readonly items: number;
  /** Items it has now. */
  readonly load: number;
  readonly ageMs: number;
  /** Time since it was last used; counts only while it has no item. */
  readonly unusedMs: number;
  /** Null if unknown, as for remote browsers. */
  readonly memoryBytes: number | null;
}

export type Retirement = 'items' | 'age' | 'memory' | 'idle';

/** Why the session gets no further items; null if it may. */
export function retirement(use: SessionUse, limits: SessionLimits): Retirement | null {
  if (use.items >= limits.maxItems) return 'items';
  if (use.ageMs >= limits.maxAgeMs) return 'age';
  if (use.memoryBytes !== null && use.memoryBytes >= limits.maxMemoryBytes) return 'memory';
  if (use.load === 0 && use.unusedMs >= limits.idleMs) return 'idle';
  return null;
}

/** The rest of a session's time is enough to open another one. */
const NEARLY = 0.9;

/** Whether a session that is in use will be retired soon, so that its successor should be opened now. */
export function isNearlyDue(use: SessionUse, limits: SessionLimits): boolean {
  const soon = { ...limits, maxItems: limits.maxItems * NEARLY, maxAgeMs: limits.maxAgeMs * NEARLY };
  const due = retirement(use, soon);
  return due !== null && due !== 'idle';
}
