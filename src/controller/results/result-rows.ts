import { ARTIFACT_KINDS, type ArtifactKind, type StoredArtifact } from '../../domain/artifact.ts';
import { errorMessage } from '../../domain/error-message.ts';
import { type FailureType, presentFailure } from '../../domain/failure.ts';
import { type ItemInput, type ItemRecord, type ItemStatus, skipReasonOf } from '../../domain/item.ts';
import { presentAttemptUsage } from '../../domain/present-usage.ts';
import { parseAddress } from '../../domain/result-address.ts';
import type { SkipReason } from '../../domain/skip-reason.ts';
import { walkPages } from '../../domain/walk-pages.ts';
import type { ItemBook, ItemFilter } from '../../ports/ledger.ts';
import type { ResultStore } from '../../ports/result-store.ts';

/** Kinds with at most one file per item, which a row refers to; data are in the row itself. */
type FileKind = Exclude<ArtifactKind, (typeof ELSEWHERE)[number]>;
/** The other kinds: in the row itself, by name, or kept to see why an item failed, which is not a result. */
const ELSEWHERE = ['data', 'metadata', 'page', 'failed_page', 'visit', 'trace'] as const;
export const FILE_KINDS = ARTIFACT_KINDS.filter(
  (kind): kind is FileKind => !ELSEWHERE.some((elsewhere) => elsewhere === kind),
);

/** Path of a file below the results folder or in the bucket; present only if the item has such a file to itself. */
type FilePaths = { readonly [Kind in FileKind as `${Kind}_path`]?: string } & {
  /** Paths of pages by name; present only if the item has some. */
  readonly page_paths?: Readonly<Record<string, string>>;
};

/** One line of an export: the input, the outcome and the data. */
export interface ResultRow extends FilePaths {
  readonly item_id: string;
  readonly status: ItemStatus;
  /** Present only if the item was skipped. */
  readonly skip_reason?: SkipReason;
  readonly input: ItemInput;
  readonly error: {
    readonly type: FailureType;
    readonly message: string;
    readonly retryable: boolean;
    readonly cause: string | null;
  } | null;
  /** What the listed attempts of the item (the last ten) sent and received together. */
  readonly requests: number;
  readonly bytes_up: number;
  readonly bytes_down: number;
  /** What the scraper extracted; null if it kept nothing. */
  readonly data: unknown;
  /** Present only if the data could not be read back. */
  readonly data_problem?: string;
  /** Present only in an export of child records: the record of this row. */
  readonly child?: ChildRecord;
}

/** An entry of a list in the data. */
interface ChildRecord {
  readonly field: string;
  /** 0-based. */
  readonly index: number;
  readonly value: unknown;
}

export interface RowDeps {
  readonly ledger: Pick<ItemBook, 'items'>;
  readonly store: Pick<ResultStore, 'get'>;
  /** Where a reader finds a file without the API: a path below the results folder, or a key in the bucket. */
  readonly pathOf: (artifact: StoredArtifact) => string;
}

const PAGE = 200;

/**
 * Limits for concurrent reads, which apply twice, because the next batch is read while this one is used. At least one
 * row is read, so a row may be larger; data too large to be parsed in reasonable time and memory stay in their file.
 */
const BATCH_ROWS = 32;
const BATCH_BYTES = 4 * 2 ** 20;
const MAX_DATA_BYTES = 64 * 2 ** 20;

export interface RowBatch {
  readonly rows: readonly ResultRow[];
  /** Approximate size of the rows. */
  readonly bytes: number;
}

/**
 * Rows for the items of a job in order, with one page of them in memory at a time. A batch may be empty: the ledger
 * looks at a bounded number of items at a time, and a caller in the same process can let other tasks run in between.
 */
export async function* rowBatches(deps: RowDeps, jobId: string, filter: ItemFilter): AsyncGenerator<RowBatch> {
  let ahead: Promise<RowBatch> | null = null;
  try {
    for await (const items of itemBatches(deps.ledger, jobId, filter)) {
      const ready: Promise<RowBatch> | null = ahead;
      ahead = readBatch(items, deps);
      if (ready !== null) yield await ready;
    }
    if (ahead !== null) yield await ahead;
  } finally {
    // Reads under way when the reader stops end before this does.
    await ahead;
  }
}

async function* itemBatches(
  ledger: RowDeps['ledger'],
  jobId: string,
  filter: ItemFilter,
): AsyncGenerator<readonly ItemRecord[]> {
  for await (const page of walkPages((after) => ledger.items(jobId, filter, { after, limit: PAGE }))) {
    let batch: ItemRecord[] = [];
    let bytes = 0;
    for (const item of page.entries) {
      const weight = weightOf(item);
      if (batch.length === BATCH_ROWS || (batch.length > 0 && bytes + weight > BATCH_BYTES)) {
        yield batch;
        batch = [];
        bytes = 0;
      }
      batch.push(item);
      bytes += weight;
    }
    yield batch;
  }
}

async function readBatch(items: readonly ItemRecord[], deps: RowDeps): Promise<RowBatch> {
  const rows = await Promise.all(items.map((item) => rowOf(item, deps)));
  return { rows, bytes: items.reduce((sum, item) => sum + weightOf(item), 0) };
}

/** Inputs are usually small: only a long text can make one large. */
function weightOf(item: ItemRecord): number {
  let weight = dataOf(item)?.size ?? 0;
  for (const value of Object.values(item.input)) {
    if (typeof value === 'string') weight += value.length;
    else if (typeof value === 'object' && value !== null) weight += JSON.stringify(value).length;
  }
  return weight;
}

function dataOf(item: ItemRecord): StoredArtifact | undefined {
  return item.artifacts.find(({ kind }) => kind === 'data');
}

/** Not a promise if there are no data to be read. */
function rowOf(item: ItemRecord, { store, pathOf }: RowDeps): ResultRow | Promise<ResultRow> {
  const artifact = dataOf(item);
  if (artifact === undefined) return rowWith(item, NO_DATA, pathOf);
  return readData(artifact, store).then((data) => rowWith(item, data, pathOf));
}

function rowWith(item: ItemRecord, data: RowData, pathOf: RowDeps['pathOf']): ResultRow {
  const { itemId, status, input } = item;
  const failure = status === 'failed' ? (item.attempts.at(-1)?.failure ?? null) : null;
  const error = failure && presentFailure(failure);
  const skipReason = skipReasonOf(item);
  const skipped = skipReason === null ? {} : { skip_reason: skipReason };
  const used = presentAttemptUsage(item.attempts);
  return { item_id: itemId, status, ...skipped, input, error, ...used, ...data, ...filePaths(item, pathOf) };
}

type RowData = Pick<ResultRow, 'data' | 'data_problem'>;

const NO_DATA: RowData = { data: null };

/** A slice of a larger object has no path of its own. */
function filePaths({ artifacts }: ItemRecord, pathOf: RowDeps['pathOf']): FilePaths {
  if (artifacts.length === 0) return {};
  const files = artifacts.filter((artifact) => parseAddress(artifact).slice === null);
  const single = FILE_KINDS.flatMap((kind) => {
    const file = files.find((each) => each.kind === kind);
    return file === undefined ? [] : [[`${kind}_path`, pathOf(file)] as const];
  });
  const pages = files.flatMap(({ name, ...file }) => (name === undefined ? [] : [[name, pathOf(file)] as const]));
  return {
    ...Object.fromEntries(single),
    ...(pages.length === 0 ? {} : { page_paths: Object.fromEntries(pages) }),
  };
}

/** Damage in one file must not keep the other rows from the reader. */
async function readData(artifact: StoredArtifact, store: Pick<ResultStore, 'get'>): Promise<RowData> {
  const { key, size } = artifact;
  if (size > MAX_DATA_BYTES) return { data: null, data_problem: `${key} has ${size} bytes, too many for a row` };
  try {
    const bytes = await store.get(artifact);
    if (bytes === null) return { data: null, data_problem: `${key} is missing` };
    return { data: JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)) };
  } catch (error) {
    return { data: null, data_problem: `${key}: ${errorMessage(error)}` };
  }
}
