/**
 * Which of several controllers schedules, reaps, finishes and removes. Writes to the ledger are conditional, so a former
 * leader that wakes up late does no harm there. Writes to the result store under keys that are used again (an index, a
 * prefix to be emptied) are not: what a former leader sent late must have arrived before the next one writes there.
 */
export interface Leadership {
  /**
   * Takes or keeps the lead until `until`. Returns whether `holder` leads now: false while the time of another holder
   * has not run out. A time more than twice as far ahead as the one requested was set by a clock that has been set back
   * since, and counts as run out (`isDue`). Calling it again extends the time. The answer is `overtook` for as long as
   * this lead lasts if it was taken from another holder that did not resign and may be alive.
   */
  lead(holder: string, until: number, now: number): Promise<Lead>;
  /** Gives up the lead, so that another holder need not wait. Does nothing if `holder` does not lead. */
  resign(holder: string): Promise<void>;
}

export type Lead = false | 'leads' | 'overtook';
