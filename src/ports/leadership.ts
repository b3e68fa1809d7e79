/**
 * Which of several controllers schedules, reaps and finishes. It saves work, it does not guard data: every write that a
 * leader makes is conditional by itself, so a former leader that wakes up late does no harm.
 */
export interface Leadership {
  /**
   * Takes or keeps the lead until `until`. Answers whether `holder` leads now: false while somebody else's time has
   * not run out. Calling it again extends the time.
   */
  lead(holder: string, until: number, now: number): Promise<boolean>;
  /** Gives the lead up, so that another need not wait. Does nothing if `holder` does not lead. */
  resign(holder: string): Promise<void>;
}
