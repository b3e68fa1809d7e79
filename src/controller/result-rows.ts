import type { StoredArtifact } from '../domain/artifact.ts';
import { type FailureType, isRetryable } from '../domain/failure.ts';
import type { ItemInput, ItemRecord, ItemStatus } from '../domain/item.ts';
import type { ItemBook, ItemFilter } from '../ports/ledger.ts';
import type { ResultStore } from '../ports/result-store.ts';

/** One line of an export: what was asked, how it ended, and what was found. */
export interface ResultRow {
  readonly item_id: string;
  readonly status: ItemStatus;
  readonly input: ItemInput;
  readonly error: {
    readonly type: FailureType;
    readonly message: string;
    readonly retryable: boolean;
    readonly cause: string | null;
  } | null;
  /** What the scraper extracted; null where it kept nothing. */
  readonly data: unknown;
  /** Only there if what was extracted could not be read back. */
  readonly data_problem?: string;
}

export interface RowParts {
  readonly ledger: Pick<ItemBook, 'items'>;
  readonly store: Pick<ResultStore, 'get'>;
}

const PAGE = 200;
const READS_AT_ONCE = 16;

export const ALL_ITEMS: ItemFilter = { status: null, errorType: null };

/** The job's items in their order, a page in memory at a time. */
export async function* resultRows(
  parts: RowParts,
  jobId: string,
  filter: ItemFilter = ALL_ITEMS,
): AsyncGenerator<ResultRow> {
  let after: string | null = null;
  do {
    const page = await parts.ledger.items(jobId, filter, { after, limit: PAGE });
    for (let from = 0; from < page.entries.length; from += READS_AT_ONCE) {
      const some = page.entries.slice(from, from + READS_AT_ONCE);
      yield* await Promise.all(some.map((item) => rowOf(item, parts.store)));
    }
    after = page.next;
  } while (after !== null);
}

async function rowOf(item: ItemRecord, store: Pick<ResultStore, 'get'>): Promise<ResultRow> {
  const { itemId, status, input } = item;
  const failure = status === 'failed' ? (item.attempts.at(-1)?.failure ?? null) : null;
  const error = failure && {
    type: failure.type,
    message: failure.message,
    retryable: isRetryable(failure.type),
    cause: failure.cause,
  };
  const artifact = item.artifacts.find(({ kind }) => kind === 'data');
  const data = artifact === undefined ? { data: null } : await readData(artifact, store);
  return { item_id: itemId, status, input, error, ...data };
}

/** Damage in one file must not keep the other rows from their reader. */
async function readData(
  { key }: StoredArtifact,
  store: Pick<ResultStore, 'get'>,
): Promise<Pick<ResultRow, 'data' | 'data_problem'>> {
  try {
    const bytes = await store.get(key);
    if (bytes === null) return { data: null, data_problem: `${key} is missing` };
    return { data: JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)) };
  } catch (error) {
    return { data: null, data_problem: `${key}: ${error instanceof Error ? error.message : String(error)}` };
  }
}
