/**
 * Time, chance and names. Nothing else in the engine reads a clock, waits, or draws a random number, so that all of it
 * can run under a fake clock and the same seed gives the same run.
 */
export interface Clock {
  /** Milliseconds since 1970. It may jump forwards and backwards: never subtract two readings to get a duration. */
  now(): number;
  /** Milliseconds since an arbitrary moment; it never goes back. Use it for durations and deadlines. */
  elapsed(): number;
  /** Resolves after `ms`, or at once when `signal` aborts. Never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Resolves in the next turn of the event loop, when everything that has already happened has been handled. */
  turn(): Promise<void>;
  /** In [0, 1). */
  chance(): number;
  /** A new, globally unique name that sorts by the time of its creation. */
  id(): string;
}
