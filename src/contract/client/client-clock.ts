/** The clock methods that the client needs; the engine's port and the tests' fake clock both have them. */
export interface ClientClock {
  /** Milliseconds since some moment; never goes back. */
  elapsed(): number;
  /** Resolves after `ms`, or at once when `signal` aborts. Never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** In [0, 1). */
  chance(): number;
  /** A new id, unique and sortable by time. */
  id(): string;
}
