/** An item that killed its worker this often fails as `poison`. */
export const MAX_STRIKES = 3;

/** What is known about an expired lease. */
export interface LostLease {
  readonly isJobCancelled: boolean;
  /** Its worker may have died together with the owner of the ledger; then no item is to blame. */
  readonly isBlameless: boolean;
  /** Its items already have strikes, so the worker marked each one as it began it. */
  readonly suspect: boolean;
  readonly begunSeq: number | null;
}

/**
 * Strikes of an unsettled item after its worker's lease expired. Any of them may have killed the worker; for a suspect
 * batch it is known which one was being processed. In a cancelled job there is nothing left to find out.
 */
export function strikesAfterLoss(lost: LostLease, item: { readonly seq: number; readonly strikes: number }): number {
  if (lost.isJobCancelled || lost.isBlameless) return item.strikes;
  return lost.suspect && lost.begunSeq !== item.seq ? item.strikes : item.strikes + 1;
}

/**
 * Strikes as users see them. One lost worker says nothing about an item it was processing: machines fail, and
 * deployments kill. It is only a reason to watch the item; if it happens again, both count.
 */
export function shownStrikes(strikes: number): number {
  return strikes <= 1 ? 0 : strikes;
}

export function isPoison(strikes: number): boolean {
  return strikes >= MAX_STRIKES;
}

/** Suspects only share batches with each other, and their worker marks each item as it begins it. */
export function isSuspect(strikes: number): boolean {
  return strikes > 0;
}

/** With the next strike, one of these becomes poison: nothing else may run that it could be blamed for. */
export function mustRunAlone(items: readonly { readonly strikes: number }[]): boolean {
  return items.some(({ strikes }) => isPoison(strikes + 1));
}
