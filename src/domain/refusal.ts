/** Returned instead of a change; not an error: the event came too late, twice, or does not fit the state. */
export interface Refusal {
  readonly refused: string;
  /** Set only if a caller decides by it; the text is for people. */
  readonly code?: 'other_revision' | 'other_incarnation';
}
