/** An item that killed its worker this often is failed as `poison`. */
export const MAX_STRIKES = 3;

/** What is known of a lease that ran out. */
export interface LostLease {
  readonly isJobCancelled: boolean;
  /** Its worker may have died with the owner of the ledger, and then no item is to blame. */
  readonly isBlameless: boolean;
  /** Its items have strikes already, so that the worker marked each one as it began it. */
  readonly suspect: boolean;
  readonly begunSeq: number | null;
}

/**
 * Strikes of an unsettled item after the lease of its worker ran out. Each one may have killed the worker; of a suspect
 * batch it is known which one it was at. In a cancelled job there is nothing left to find out.
 */
export function strikesAfterLoss(lost: LostLease, item: { readonly seq: number; readonly strikes: number }): number {
  if (lost.isJobCancelled || lost.isBlameless) return item.strikes;
  return lost.suspect && lost.begunSeq !== item.seq ? item.strikes : item.strikes + 1;
}

/**
 * Strikes as users see them. One lost worker says nothing about an item that it had in hand: machines fail, and deploys
 * kill. It is only a reason to watch the item; when that happens to it again, both count.
 */
export function shownStrikes(strikes: number): number {
  return strikes <= 1 ? 0 : strikes;
}

export function isPoison(strikes: number): boolean {
  return strikes >= MAX_STRIKES;
}

/** Travels only with its like, in batches whose worker marks each item as it begins it. */
export function isSuspect(strikes: number): boolean {
  return strikes > 0;
}

/** With the next strike one of these is poison: nothing else may be running that it could be blamed for. */
export function mustRunAlone(items: readonly { readonly strikes: number }[]): boolean {
  return items.some(({ strikes }) => isPoison(strikes + 1));
}
