import type { StoredArtifact } from '../../domain/artifact.ts';
import type { ItemRecord } from '../../domain/item.ts';
import type { JobRecord } from '../../domain/job.ts';
import { isSameAddress } from '../../domain/result-address.ts';
import { walkPages } from '../../domain/walk-pages.ts';
import type { Clock } from '../../ports/clock.ts';
import type { ItemBook } from '../../ports/ledger.ts';
import type { ResultStore } from '../../ports/result-store.ts';
import { itemsAlike } from '../results/items-alike.ts';
import { ReadLimiter } from '../results/read-limiter.ts';
import type { ChangeTally } from './change-tally.ts';
import { type FieldDifference, fieldDifferences } from './field-differences.ts';

export interface CompareDeps {
  readonly ledger: Pick<ItemBook, 'item' | 'items' | 'itemsAt'>;
  readonly store: Pick<ResultStore, 'get'>;
  readonly clock: Clock;
}

const PAGE = 200;
/** Larger data are not parsed: they would delay everything else. */
const MAX_DATA_BYTES = 4 << 20;

/**
 * Compares the data of every item that a re-extraction read with the older job's original data, regardless of later
 * replacements, and adds the differences to the tally. False if it was stopped.
 */
export async function compareData(
  deps: CompareDeps,
  job: JobRecord & { readonly extracts: string },
  tally: ChangeTally,
  stop: AbortSignal,
): Promise<boolean> {
  const { ledger, store, clock } = deps;
  const reads = new ReadLimiter();
  const filter = { status: 'success', errorType: null } as const;
  const read = (after: string | null) => ledger.items(job.jobId, filter, { after, limit: PAGE });
  for await (const page of walkPages(read)) {
    if (stop.aborted) return false;
    const ids = page.entries.map(({ itemId }) => itemId);
    const older = await itemsAlike(ledger, job.extracts, ids);
    const found = new Map<string, readonly FieldDifference[]>();
    const recovered = new Set<string>();
    for (const item of page.entries) {
      const before = older.get(item.itemId);
      if (hadFailed(before, item)) recovered.add(item.itemId);
      const [was, is] = [recovered.has(item.itemId) ? null : dataOf(before), dataOf(item)];
      if (was?.sha256 === is?.sha256) continue;
      await reads.start((was?.size ?? 0) + (is?.size ?? 0), async () => {
        found.set(item.itemId, await differences(store, was, is));
      });
    }
    await reads.idle();
    // In order, so that the examples are the same each time.
    for (const id of ids) tally.add(id, found.get(id) ?? [], recovered.has(id));
    await clock.turn();
  }
  return true;
}

/** Whether the item failed in the older job; a recovered item already has the data of this re-extraction. */
function hadFailed(older: ItemRecord | undefined, item: ItemRecord): boolean {
  const [was, is] = [dataOf(older), dataOf(item)];
  return older?.status === 'failed' || (was !== null && is !== null && isSameAddress(was, is));
}

export function dataOf(item: ItemRecord | undefined): StoredArtifact | null {
  return item?.artifacts.find(({ kind }) => kind === 'data') ?? null;
}

/** Files that cannot be read or parsed count as different; the reason takes the place of a field. */
export async function differences(
  store: Pick<ResultStore, 'get'>,
  was: StoredArtifact | null,
  is: StoredArtifact | null,
): Promise<readonly FieldDifference[]> {
  if (Math.max(was?.size ?? 0, is?.size ?? 0) > MAX_DATA_BYTES) return [wholly('(too large to compare)', was, is)];
  try {
    const [before, after] = await Promise.all([read(store, was), read(store, is)]);
    return fieldDifferences(before, after);
  } catch {
    return [wholly('(unreadable)', was, is)];
  }
}

async function read(store: Pick<ResultStore, 'get'>, artifact: StoredArtifact | null): Promise<unknown> {
  if (artifact === null) return null;
  const bytes = await store.get(artifact);
  if (bytes === null) throw new Error(`${artifact.key} is missing`);
  return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
}

function wholly(field: string, was: StoredArtifact | null, is: StoredArtifact | null): FieldDifference {
  return { field, kind: 'changed', before: was?.key ?? null, after: is?.key ?? null };
}
