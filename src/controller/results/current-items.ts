import { type AttemptRecord, type ItemRecord, otherVersion } from '../../domain/item.ts';
import type { JobRecord } from '../../domain/job.ts';
import type { ItemBook, JobBook } from '../../ports/ledger.ts';
import { itemsAlike } from './items-alike.ts';
import { readsFrom } from './reads-from.ts';
import { readsPageOf } from './same-page.ts';

type CurrentItems = Pick<ItemBook, 'item' | 'items' | 'itemsAt'>;

/**
 * The items of a job with their current data: those of the re-extraction that replaced them, if it read the page that
 * the item still has, and their own otherwise. Pages, screenshots and documents are always their own, and so is how
 * they ended; but the scraper and version of the last attempt are those that produced the data.
 */
export function currentItems(
  ledger: CurrentItems & Pick<JobBook, 'job'>,
  job: Pick<JobRecord, 'jobId' | 'createdAt' | 'replacedBy' | keyof ScraperRef>,
): CurrentItems {
  const { jobId, replacedBy } = job;
  if (replacedBy === undefined) return ledger;
  let extraction: Promise<JobRecord | null> | null = null;
  const renewed = async (record: ItemRecord, newer: ItemRecord | null | undefined): Promise<ItemRecord> => {
    if (newer?.status !== 'success' || !mayBeReplaced(record) || !readsPageOf(newer, record)) return record;
    extraction ??= ledger.job(replacedBy);
    const by = await extraction;
    // Deleted between two reads, with its data; or another job has its id by now.
    return by === null || !readsFrom(by, job) ? record : withNewData(record, newer, job, by);
  };
  const replaced = async (records: readonly ItemRecord[]): Promise<readonly ItemRecord[]> => {
    const ids = records.filter(mayBeReplaced).map(({ itemId }) => itemId);
    const newer = await itemsAlike(ledger, replacedBy, ids);
    return Promise.all(records.map((record) => renewed(record, newer.get(record.itemId))));
  };
  /** A caller that asks for another job by mistake gets that job's own items. */
  const isOurs = (asked: string) => asked === jobId;
  return {
    async item(asked, itemId) {
      const record = await ledger.item(asked, itemId);
      if (record === null || !isOurs(asked)) return record;
      return renewed(record, mayBeReplaced(record) ? await ledger.item(replacedBy, itemId) : null);
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

/** Failed items become successes before their data count (`recover-items.ts`). */
function mayBeReplaced({ status }: ItemRecord): boolean {
  return status === 'success';
}

type ScraperRef = Pick<JobRecord, 'scraperId' | 'scraperVersion'>;

function withNewData(record: ItemRecord, newer: ItemRecord, job: ScraperRef, by: ScraperRef): ItemRecord {
  const data = newer.artifacts.filter(({ kind }) => kind === 'data');
  if (data.length === 0) return record;
  const isReplaced = (kind: string) => data.some((each) => each.kind === kind);
  return {
    ...record,
    attempts: record.attempts.map((attempt, index, { length }) =>
      index < length - 1 ? attempt : readAnew(attempt, newer.attempts.at(-1), job, by),
    ),
    artifacts: [...record.artifacts.filter(({ kind }) => !isReplaced(kind)), ...data],
  };
}

function readAnew(
  { scraperVersion: _replaced, ...attempt }: AttemptRecord,
  newer: AttemptRecord | undefined,
  job: ScraperRef,
  { scraperId, scraperVersion }: ScraperRef,
): AttemptRecord {
  return {
    ...attempt,
    ...otherVersion({ scraperVersion: newer?.scraperVersion ?? scraperVersion }, job),
    ...(scraperId === job.scraperId ? {} : { scraperId }),
  };
}
