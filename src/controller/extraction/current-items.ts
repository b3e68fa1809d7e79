import type { ItemRecord } from '../../domain/item.ts';
import type { JobRecord } from '../../domain/job.ts';
import type { ItemBook } from '../../ports/ledger.ts';
import { itemsAlike } from './items-alike.ts';

export type CurrentItems = Pick<ItemBook, 'item' | 'items' | 'itemsAt'>;

/**
 * The items of a job with what stands for their data now: that of the re-extraction which replaced them, where it
 * succeeded, and their own otherwise. Pages, pictures and documents are always their own, and so is how they ended.
 */
export function currentItems(ledger: CurrentItems, job: Pick<JobRecord, 'jobId' | 'replacedBy'>): CurrentItems {
  const { jobId, replacedBy } = job;
  if (replacedBy === undefined) return ledger;
  const replaced = async (records: readonly ItemRecord[]): Promise<readonly ItemRecord[]> => {
    const ids = records.filter(mayBeReplaced).map(({ itemId }) => itemId);
    const newer = await itemsAlike(ledger, replacedBy, ids);
    return records.map((record) => withNewData(record, newer.get(record.itemId)));
  };
  /** Whoever asks for another job by mistake gets that job's own items. */
  const isOurs = (asked: string) => asked === jobId;
  return {
    async item(asked, itemId) {
      const record = await ledger.item(asked, itemId);
      if (record === null || !isOurs(asked)) return record;
      return withNewData(record, mayBeReplaced(record) ? await ledger.item(replacedBy, itemId) : null);
    },
    async items(asked, filter, request) {
      const page = await ledger.items(asked, filter, request);
      return isOurs(asked) ? { ...page, entries: await replaced(page.entries) } : page;
    },
    async itemsAt(asked, first, limit) {
      const records = await ledger.itemsAt(asked, first, limit);
      return isOurs(asked) ? await replaced(records) : records;
    },
  };
}

/** Only what succeeded had a page to read, and success is final. */
function mayBeReplaced({ status }: ItemRecord): boolean {
  return status === 'success';
}

function withNewData(record: ItemRecord, newer: ItemRecord | null | undefined): ItemRecord {
  if (newer?.status !== 'success' || !mayBeReplaced(record)) return record;
  const data = newer.artifacts.filter(({ kind }) => kind === 'data' || kind === 'metadata');
  const isReplaced = (kind: string) => data.some((each) => each.kind === kind);
  return { ...record, artifacts: [...record.artifacts.filter(({ kind }) => !isReplaced(kind)), ...data] };
}
