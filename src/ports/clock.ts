/**
 * Time, chance and names. Nothing else in the engine reads a clock, waits, or draws a number, so that the whole of it
 * can run under a fake clock and the same seed gives the same run.
 */
export interface Clock {
  /** Milliseconds since 1970. May jump, forwards and backwards: never subtract two readings to know a duration. */
  now(): number;
  /** Milliseconds since some moment; never goes back. For durations and deadlines. */
  elapsed(): number;
  /** Resolves after `ms`, or at once when `signal` aborts. Never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Resolves in the next turn of the event loop, when what has already happened has been heard. */
  turn(): Promise<void>;
  /** In [0, 1). */
  chance(): number;
  /** A new name that nobody else has, sortable by time of birth. */
  id(): string;
}
