/** Said instead of a change, and not an error: the event came too late, twice, or does not fit the state. */
export interface Refusal {
  readonly refused: string;
}
