import { hash } from 'node:crypto';
import {
  type ListedRun,
  type NewRun,
  RUN_ITEM_STATES,
  type RunItem,
  type RunRecord,
  type RunStatus,
  runItemState,
} from '../../domain/scrape-run.ts';

/** How scrape runs and their items are written in columns, and read from them. */

type Columns = Readonly<Record<string, unknown>>;

/** What a run has besides its columns. */
export function documentOf({ source, metadata }: Pick<NewRun, 'source' | 'metadata'>): string {
  return JSON.stringify({ source, metadata });
}

export function runOf(row: Columns): RunRecord {
  const { source, metadata }: Pick<NewRun, 'source' | 'metadata'> = JSON.parse(String(row['document']));
  return {
    ...listedRunOf(row),
    source,
    metadata,
    updatedAt: Number(row['updated_at']),
    counts: {
      total: Number(row['total']),
      completed: Number(row['completed']),
      failed: Number(row['failed']),
      invalid: Number(row['invalid']),
    },
  };
}

export function listedRunOf(row: Columns): ListedRun {
  return {
    id: String(row['id']),
    domain: String(row['domain']),
    status: String(row['status']) as RunStatus,
    startedAt: Number(row['started_at']),
    endedAt: row['ended_at'] === null ? null : Number(row['ended_at']),
    createdAt: Number(row['created_at']),
  };
}

const DONE = 1;
const FAILED = 2;
const INVALID = 4;

export function runItemOf(row: Columns): RunItem {
  const flags = Number(row['flags']);
  const reason = row['reason'];
  return {
    url: String(row['url']),
    done: (flags & DONE) !== 0,
    failed: (flags & FAILED) !== 0,
    invalid: (flags & INVALID) !== 0,
    failedReason: typeof reason === 'string' ? reason : null,
  };
}

export function flagsOf({ done, failed, invalid }: RunItem): number {
  return (done ? DONE : 0) | (failed ? FAILED : 0) | (invalid ? INVALID : 0);
}

export function stateNumber(item: RunItem): number {
  return RUN_ITEM_STATES.indexOf(runItemState(item));
}

/** 52 bits, which JavaScript and SQLite both have as a number. Two URLs may have the same one, so the URL is compared, too. */
export function urlHash(runNum: number, url: string): number {
  return Number.parseInt(hash('sha256', `${runNum}\n${url}`).slice(0, 13), 16);
}
