import type { Digest } from '../../../domain/artifact.ts';
import { isRecord } from '../../../domain/is-record.ts';
import type { JobRecord } from '../../../domain/job.ts';
import type { Clock } from '../../../ports/clock.ts';
import type { ItemFilter } from '../../../ports/ledger.ts';
import type { ResultStore } from '../../../ports/result-store.ts';
import { type ResultRow, type RowBatch, type RowDeps, rowBatches } from '../result-rows.ts';
import { unfetchedLinkLines } from '../unfetched-links.ts';
import { evenChunks, textChunks } from './byte-chunks.ts';
import { type Schemas, TablePlan } from './columns.ts';
import { csvHeader, csvLine } from './csv-line.ts';
import { explodeRows } from './explode.ts';
import { pageTree, type TreePage } from './page-tree.ts';
import { zipBytes } from './zip-bytes.ts';

export interface ExportDeps extends RowDeps {
  readonly store: RowDeps['store'] & Pick<ResultStore, 'open'>;
  /** Whether the exported job still exists: it may be deleted, and its id reused. */
  readonly isStillThere: () => Promise<boolean>;
  readonly clock: Pick<Clock, 'turn'>;
  readonly digest: Digest;
}

export interface ExportOptions {
  readonly format: ExportFormat;
  readonly filter: ExportFilter;
  /** The job's scraper, if it still exists: its schemas name the columns. */
  readonly scraper: Schemas | null;
  /** A list in the data whose entries are the rows; null if rows are items. */
  readonly explode: string | null;
  /** Begin a CSV with a byte order mark: without one, Excel assumes the code page of its machine. */
  readonly hasBom: boolean;
}

export type ExportFormat = 'jsonl' | 'csv' | 'parquet' | 'zip';
type ExportFilter = 'all' | 'success' | 'errors';

export interface Export {
  readonly contentType: string;
  readonly fileName: string;
  readonly body: AsyncIterable<Uint8Array>;
}

/**
 * A job's results as one file, a row per item or per child record in order, produced as the reader takes it: memory
 * contains a batch of rows and a chunk, or a row group, whatever the size of the job. It yields after every batch,
 * because the engine runs in the same process. An item that changes meanwhile is exported as it was when its page was
 * read.
 */
export function exportJob(deps: ExportDeps, job: Pick<JobRecord, 'jobId' | 'bulk'>, options: ExportOptions): Export {
  const { jobId } = job;
  const { format, filter, explode } = options;
  const { contentType, extension } = FORMATS[format];
  const suffix = `${explode === null ? '' : `-${fileStem(explode)}`}${filter === 'all' ? '' : `-${filter}`}`;
  const body = untilStopped((signal) => {
    const items = rowBatches(deps, jobId, FILTERS[filter]);
    const batches = inTurns(explode === null ? items : explodeRows(items, explode), deps, signal);
    if (format === 'zip') {
      const links = filter === 'all' ? unfetchedLinkLines(deps.store, job) : undefined;
      return zipBytes(pageTree({ job_id: jobId }, pagesOf(batches), deps.digest, links));
    }
    return format === 'jsonl' ? textChunks('', batches, jsonLine) : tableBytes(format, batches, options, deps.clock);
  });
  return { contentType, fileName: `${fileStem(jobId)}${suffix}.${extension}`, body };
}

const FORMATS = {
  jsonl: { contentType: 'application/x-ndjson', extension: 'jsonl' },
  csv: { contentType: 'text/csv; charset=utf-8', extension: 'csv' },
  parquet: { contentType: 'application/vnd.apache.parquet', extension: 'parquet' },
  zip: { contentType: 'application/zip', extension: 'zip' },
} as const satisfies Record<ExportFormat, { contentType: string; extension: string }>;

const FILTERS = {
  all: { status: null, errorType: null },
  success: { status: 'success', errorType: null },
  errors: { status: 'failed', errorType: null },
} as const satisfies Record<ExportFilter, ItemFilter>;

/** Thrown instead of a row. */
export class JobGone extends Error {
  constructor() {
    super('the job was deleted while it was exported');
    this.name = 'JobGone';
  }
}

/** How many rows, or bytes of rows, are examined before the columns are fixed. */
const HEAD_ROWS = 1000;
const HEAD_BYTES = 8 * 2 ** 20;

async function* tableBytes(
  format: 'csv' | 'parquet',
  batches: AsyncGenerator<RowBatch>,
  { scraper, explode, hasBom }: ExportOptions,
  clock: Pick<Clock, 'turn'>,
): AsyncGenerator<Uint8Array> {
  try {
    const plan = new TablePlan(scraper, explode);
    const head: RowBatch[] = [];
    let rows = 0;
    let bytes = 0;
    while (rows < HEAD_ROWS && bytes < HEAD_BYTES) {
      const next = await batches.next();
      if (next.done === true) break;
      for (const row of next.value.rows.slice(0, HEAD_ROWS - rows)) plan.look(row);
      head.push(next.value);
      rows += next.value.rows.length;
      bytes += next.value.bytes;
    }
    const table = plan.table();
    const all = followedBy(head, batches);
    if (format === 'csv') {
      yield* textChunks(`${hasBom ? BOM : ''}${csvHeader(table)}`, all, (row) => csvLine(table, row));
      return;
    }
    // Loaded on demand: it is larger than the rest of the API.
    const { parquetBytes } = await import('./parquet-bytes.ts');
    yield* evenChunks(parquetBytes(table, all, clock));
  } finally {
    await batches.return(undefined);
  }
}

/** Releases the head as it goes, so that it is not held for the whole export. */
async function* followedBy(head: RowBatch[], rest: AsyncIterable<RowBatch>): AsyncGenerator<RowBatch> {
  for (let batch = head.shift(); batch !== undefined; batch = head.shift()) yield batch;
  yield* rest;
}

async function* inTurns(
  batches: AsyncIterable<RowBatch>,
  { clock, isStillThere }: Pick<ExportDeps, 'clock' | 'isStillThere'>,
  signal: AbortSignal,
): AsyncGenerator<RowBatch> {
  for await (const batch of batches) {
    await clock.turn();
    if (signal.aborted) return;
    // A file that ends early looks complete: its reader must notice that it is not.
    if (!(await isStillThere())) throw new JobGone();
    yield batch;
  }
}

/**
 * A generator that is asked to return first continues to its next `yield`, and the next chunk may be thousands of rows
 * away. So a reader that stops is noticed in between as well.
 */
function untilStopped(make: (signal: AbortSignal) => AsyncGenerator<Uint8Array>): AsyncIterable<Uint8Array> {
  return {
    [Symbol.asyncIterator]() {
      const stop = new AbortController();
      const chunks = make(stop.signal);
      return {
        next: () => chunks.next(),
        return() {
          stop.abort();
          return chunks.return(undefined);
        },
      };
    },
  };
}

/** Pages of a job that pulls documentation. What has neither a page nor an address is not one. */
async function* pagesOf(batches: AsyncIterable<RowBatch>): AsyncGenerator<TreePage> {
  for await (const { rows } of batches) {
    for (const { status, skip_reason, input, error, data } of rows) {
      const { url, site = 'pages', path = '' } = input;
      if (typeof url !== 'string' || typeof site !== 'string' || typeof path !== 'string') continue;
      const page = isRecord(data) && typeof data['markdown'] === 'string' ? data : null;
      const { title = null, source = null, fetched_at = null } = page ?? {};
      yield {
        ...{ site, path, markdown: page === null ? null : String(page['markdown']) },
        about: {
          ...{ url, site, path, status },
          ...(skip_reason === undefined ? {} : { skip_reason }),
          ...(page === null ? {} : { title, source, fetched_at }),
          ...(error === null ? {} : { error: { type: error.type, message: error.message } }),
        },
      };
    }
  }
}

const BOM = '\uFEFF';

/** A child record takes the place of its list in the data. */
function jsonLine(row: ResultRow): string {
  if (row.child === undefined) return `${JSON.stringify(row)}\n`;
  const { child, item_id, status, data, ...rest } = row;
  const own = Object.entries(isRecord(data) ? data : {});
  const line = {
    item_id,
    status,
    index: child.index,
    ...rest,
    data: Object.fromEntries([...own, [child.field, child.value]]),
  };
  return `${JSON.stringify(line)}\n`;
}

/** Used in a header of the answer and as a file name on the user's disk. */
function fileStem(jobId: string): string {
  const stem = jobId.replaceAll(/[^A-Za-z0-9_-]+/g, '-').slice(0, 100);
  return /[A-Za-z0-9]/.test(stem) ? stem : 'job';
}
