import type { RunAnswer, RunCountsAnswer, RunItemAnswer } from '../../contract/scrape-run-answers.ts';
import { pendingOf, type RunCounts, type RunItem, type RunRecord } from '../../domain/scrape-run.ts';
import type { RunBook } from '../../ports/run-book.ts';

/** The run without its items. What its client did not report is counted here. */
export function presentRun(run: RunRecord): RunAnswer {
  const { id, domain, source, status, startedAt, endedAt, createdAt, updatedAt, metadata, counts } = run;
  const endTime = endedAt === null ? null : timeText(endedAt);
  return {
    _id: id,
    id,
    domain,
    ...(source === null ? {} : { source }),
    status,
    startTime: timeText(startedAt),
    endTime,
    createdAt: timeText(createdAt),
    updatedAt: timeText(updatedAt),
    metadata: {
      ...(metadata.started_at === undefined ? {} : { started_at: metadata.started_at }),
      finished_at: metadata.finished_at ?? endTime,
      finished_count: metadata.finished_count ?? counts.completed,
      total_count: metadata.total_count ?? counts.total,
      failed_count: metadata.failed_count ?? counts.failed + counts.invalid,
    },
    counts: presentCounts(counts),
  };
}

export function presentCounts(counts: RunCounts): RunCountsAnswer {
  const { total, completed, failed, invalid } = counts;
  return { total, pending: pendingOf(counts), completed, failed, invalid };
}

/** What is not set is left out: a run may have a hundred thousand items. */
export function presentRunItem({ url, done, failed, invalid, failedReason }: RunItem): RunItemAnswer {
  return {
    url,
    done,
    ...(failed && { failed }),
    ...(invalid && { invalid }),
    ...(failedReason !== null && { failedReason }),
  };
}

const ITEMS_AT_ONCE = 1000;

/** The JSON of a run with all its items, in constant memory. */
export async function* writeRun(runs: Pick<RunBook, 'items'>, run: RunRecord): AsyncGenerator<Uint8Array> {
  yield Buffer.from(`${JSON.stringify(presentRun(run)).slice(0, -1)},"items":[`);
  let after: string | null = null;
  let comma = '';
  do {
    const page = await runs.items(run.id, { state: null, after, limit: ITEMS_AT_ONCE });
    const some = page.items.map((item) => JSON.stringify(presentRunItem(item)));
    if (some.length > 0) yield Buffer.from(comma + some.join(','));
    comma = ',';
    after = page.next;
  } while (after !== null);
  yield Buffer.from(']}');
}

interface RunPage {
  readonly runs: readonly RunRecord[];
  readonly total: number;
  readonly page: number;
  readonly limit: number;
}

/** The JSON of a page of runs with all their items. */
export async function* writeRuns(book: Pick<RunBook, 'items'>, page: RunPage): AsyncGenerator<Uint8Array> {
  yield Buffer.from('{"data":[');
  for (const [at, run] of page.runs.entries()) {
    if (at > 0) yield Buffer.from(',');
    yield* writeRun(book, run);
  }
  yield Buffer.from(`],"pagination":${JSON.stringify(presentPagination(page))}}`);
}

export function presentPagination({ total, page, limit }: Omit<RunPage, 'runs'>) {
  return { currentPage: page, totalPages: Math.ceil(total / limit), totalItems: total, limit };
}

function timeText(at: number): string {
  return new Date(at).toISOString();
}
