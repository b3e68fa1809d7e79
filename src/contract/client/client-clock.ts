/** What the client needs of a clock; the port of the engine and the tests' fake clock both fit. */
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
