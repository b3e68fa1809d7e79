import { type ItemStatus, NEXT_ITEM_STATUS, nextStatus } from './item.ts';

/**
 * The place of an item that has not ended: in no batch; in a batch, after its first unsettled item; or that first item
 * itself, of a batch that is queued or leased. The first one represents its batch, so that there are as many queued and
 * in-progress items as batches.
 */
type OpenPlace = 'waiting' | 'later-in-batch' | 'first-of-queued' | 'first-of-held';

type OpenStatus = Exclude<ItemStatus, 'success' | 'skipped' | 'failed'>;

const OPEN_STATUS = {
  waiting: 'pending',
  'later-in-batch': 'pending',
  'first-of-queued': NEXT_ITEM_STATUS.pending.dispatch,
  'first-of-held': NEXT_ITEM_STATUS.queued.claim,
} as const satisfies Record<OpenPlace, OpenStatus>;

/** A cancelled job cancels every open item except the one a worker is processing. */
export function openStatus(place: OpenPlace, isJobCancelled: boolean): OpenStatus {
  const status = OPEN_STATUS[place];
  return isJobCancelled && nextStatus(status, 'cancel') !== null ? 'cancelled' : status;
}

/** The place of an item in its batch. */
export function placeInBatch(isFirst: boolean, isHeld: boolean): OpenPlace {
  if (!isFirst) return 'later-in-batch';
  return isHeld ? 'first-of-held' : 'first-of-queued';
}

/** The status of the first item of a batch that comes back, or of an item whose end is undone. */
export function statusWhenBack(
  from: 'queued' | 'in_progress' | 'success' | 'skipped' | 'failed',
  isJobCancelled: boolean,
): 'pending' | 'cancelled' {
  switch (from) {
    case 'queued':
      return isJobCancelled ? NEXT_ITEM_STATUS.queued.cancel : NEXT_ITEM_STATUS.queued.lose;
    case 'in_progress':
      return isJobCancelled ? NEXT_ITEM_STATUS.in_progress.withdraw : NEXT_ITEM_STATUS.in_progress.release;
    default:
      return isJobCancelled ? NEXT_ITEM_STATUS[from].withdraw : NEXT_ITEM_STATUS[from].undo;
  }
}

/** How many items, from the first on, stay in a batch when its job is cancelled: the one a worker is processing. */
export function leftByCancel(isHeld: boolean): 0 | 1 {
  return openStatus(placeInBatch(true, isHeld), true) === 'cancelled' ? 0 : 1;
}
