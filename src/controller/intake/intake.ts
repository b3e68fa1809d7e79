import type { AddedAnswer } from '../../contract/item-answers.ts';
import type { ColumnMapping } from '../../contract/item-columns.ts';
import type { ItemFormat } from '../../contract/item-formats.ts';
import type { NewItem } from '../../domain/item.ts';
import { type JobRecord, OPEN_MS } from '../../domain/job.ts';
import type { JobStatus } from '../../domain/job-steps.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Faults } from '../../ports/faults.ts';
import type { AddAnswer, ItemBook, JobBook } from '../../ports/ledger.ts';
import { UnreadableItems } from './csv-columns.ts';
import { inputFields } from './input-fields.ts';
import { judgeItems, shortened } from './judge-items.ts';
import { type BadLine, type ItemChunk, readItems } from './read-items.ts';
import type { CatalogScraper, ScraperCatalog } from './scraper-catalog.ts';
import { untilAborted } from './until-aborted.ts';

interface ImportDeps {
  readonly ledger: Pick<ItemBook, 'addItems'>;
  readonly clock: Clock;
  readonly faults: Faults;
}

interface IntakeDeps extends ImportDeps {
  readonly ledger: Pick<ItemBook, 'addItems'> & Pick<JobBook, 'job'>;
  readonly catalog: Pick<ScraperCatalog, 'ofJob'>;
}

interface IntakeCounts {
  /** Lines, rows or entries that were read: added, duplicate and bad ones. */
  readonly received: number;
  readonly added: number;
  /** Items whose id the job already had. They were left unchanged, unless they replaced a failed one. */
  readonly duplicates: number;
  /** Duplicates whose input a failed item has taken over. */
  readonly replaced: number;
  /** The ids of the first of them. */
  readonly replacedIds: readonly string[];
  /** Duplicates with another input than the job has under that id. The job's was kept. */
  readonly differing: number;
  /** The ids of the first of them. */
  readonly differingIds: readonly string[];
  readonly bad: number;
  /** The first of them. */
  readonly badLines: readonly AnsweredLine[];
  /** Whether part of the list could not be read at all, so that the job lacks items. */
  readonly isIncomplete: boolean;
  /** Columns of a CSV that the scraper does not know. They are not part of the inputs. */
  readonly ignoredColumns: readonly string[];
}

/** How to read a list. */
export interface ListReading {
  readonly format: ItemFormat;
  /** For CSV. */
  readonly columns: ColumnMapping;
  /** Whether to refuse columns that the scraper does not know. */
  readonly isStrict: boolean;
  /** Maximum number of items to add; infinity for all. */
  readonly limit: number;
}

type AnsweredLine = AddedAnswer['bad_lines'][number];

type IntakeAnswer =
  | ({ readonly kind: 'taken' } & IntakeCounts)
  | { readonly kind: 'missing' }
  | { readonly kind: 'refused'; readonly because: string }
  /** The job was cancelled, before or meanwhile. */
  | ({ readonly kind: 'closed'; readonly status: JobStatus } & IntakeCounts)
  /** From some point on, the bytes cannot be understood. */
  | ({ readonly kind: 'unreadable'; readonly message: string } & IntakeCounts);

const MAX_BAD_LINES = 100;
const MAX_IDS = 100;
/** A slow sender's items go into the ledger after this time, however few they are. */
const HAND_OVER_AFTER_MS = 1000;

/**
 * Reads items for a job from bytes as they arrive, any number of them. Good ones are added and bad ones named by their
 * line, including those whose input breaks the scraper's schema. If the bytes end with an error, or `signal` aborts, it
 * is rethrown: what was added stays, and the job waits for the sender to come back, for a while. Nothing is read after
 * the good item that reaches `limit`.
 */
export async function takeInItems(
  deps: IntakeDeps,
  jobId: string,
  bytes: AsyncIterable<Uint8Array>,
  { format, columns, isStrict, limit }: ListReading,
  signal: AbortSignal,
): Promise<IntakeAnswer> {
  const { ledger, clock } = deps;
  const job = await ledger.job(jobId);
  if (job === null) return { kind: 'missing' };
  // Otherwise they would be fetched, by a job without any limits because it should fetch nothing.
  if (job.extracts !== undefined) return { kind: 'refused', because: `it only reads the pages of ${job.extracts}` };
  const sum = new Sum();
  // Done before a byte is read: the job's other items may end meanwhile, and the job must not be completed.
  const opened = await ledger.addItems(jobId, [], clock.now() + OPEN_MS, clock.now());
  if (opened.kind !== 'added') return sum.refusal(opened);
  const scraper = await usableScraper(deps.catalog, job);
  const rules = { mapping: columns, input: scraper === null ? null : inputFields(scraper), isStrict };
  const source = untilAborted(bytes, signal);
  try {
    const answer = await addChunks(
      onlyTo(job, deps),
      jobId,
      checkedItems(
        scraper,
        sum,
        limit,
        readInTime(clock, (isDue) => readItems(source, format, isDue, rules)),
      ),
      sum,
    );
    return answer === null ? { kind: 'taken', ...sum.counts() } : sum.refusal(answer);
  } catch (error) {
    if (!(error instanceof UnreadableItems)) throw error;
    return { kind: 'unreadable', message: error.message, ...sum.counts() };
  }
}

/** The job may be deleted while its items arrive, and its id reused: they are not meant for that job. */
function onlyTo({ jobId, createdAt }: JobRecord, deps: IntakeDeps): ImportDeps {
  const { ledger } = deps;
  return {
    ...deps,
    ledger: {
      async addItems(...args) {
        const current = await ledger.job(jobId);
        return current?.createdAt === createdAt ? ledger.addItems(...args) : { kind: 'missing' };
      },
    },
  };
}

/** Adds items chunk by chunk as they arrive, any number of them; the job stays open until the last. */
export async function importItems(
  deps: ImportDeps,
  jobId: string,
  chunks: AsyncIterable<readonly NewItem[]> | Iterable<readonly NewItem[]>,
): Promise<{ added: number; duplicates: number } | Exclude<AddAnswer, { kind: 'added' }>> {
  const sum = new Sum();
  return (await addChunks(deps, jobId, chunks, sum)) ?? { added: sum.added, duplicates: sum.duplicates };
}

/** Null if all were added. Only one chunk is read ahead while another is being committed. */
async function addChunks(
  { ledger, clock, faults }: ImportDeps,
  jobId: string,
  chunks: AsyncIterable<readonly NewItem[]> | Iterable<readonly NewItem[]>,
  sum: Sum,
): Promise<Refused | null> {
  let committing: Promise<Refused | null> = Promise.resolve(null);
  const add = async (items: readonly NewItem[]): Promise<Refused | null> => {
    const answer = await ledger.addItems(jobId, items, clock.now() + OPEN_MS, clock.now());
    if (answer.kind !== 'added') return answer;
    sum.added += answer.added;
    sum.duplicates += answer.duplicates.length;
    sum.replaced.note(answer.replaced.map((index) => items[index]?.itemId ?? ''));
    sum.differing.note(answer.differing.map((index) => items[index]?.itemId ?? ''));
    await faults.at('between-import-chunks');
    return null;
  };
  try {
    for await (const items of chunks) {
      const refused = await committing;
      if (refused !== null) return refused;
      committing = add(items);
      // Its failure is reported where it is awaited below; the next chunk may come first.
      committing.catch(() => {});
      // The commit happens in its own turn of the event loop, and other tasks run before the next chunk is read.
      await clock.turn();
    }
  } catch (error) {
    // A chunk on its way counts as added, if it was.
    await committing;
    throw error;
  }
  const refused = await committing;
  if (refused !== null) return refused;
  const closing = await ledger.addItems(jobId, [], clock.now(), clock.now());
  return closing.kind === 'added' ? null : closing;
}

type Refused = Exclude<AddAnswer, { kind: 'added' }>;

/** The number of items, and the ids of the first ones. */
class NotedIds {
  count = 0;
  readonly ids: string[] = [];

  note(itemIds: readonly string[]): void {
    this.count += itemIds.length;
    this.ids.push(...itemIds.slice(0, MAX_IDS - this.ids.length));
  }
}

class Sum {
  added = 0;
  duplicates = 0;
  readonly replaced = new NotedIds();
  readonly differing = new NotedIds();
  #bad = 0;
  #received = 0;
  readonly #badLines: AnsweredLine[] = [];
  #isIncomplete = false;
  #ignoredColumns: readonly string[] = [];

  receive(items: number, bad: readonly BadLine[]): void {
    this.#received += items + bad.length;
    this.#bad += bad.length;
    for (const { line, code = 'unreadable', problem } of bad) {
      if (code === 'lines_lost' || code === 'rest_unread') this.#isIncomplete = true;
      if (this.#badLines.length < MAX_BAD_LINES) this.#badLines.push({ line, code, problem: shortened(problem) });
    }
  }

  ignore(columns: readonly string[]): void {
    if (columns.length > 0) this.#ignoredColumns = columns;
  }

  counts(): IntakeCounts {
    return {
      received: this.#received,
      added: this.added,
      duplicates: this.duplicates,
      replaced: this.replaced.count,
      replacedIds: this.replaced.ids,
      differing: this.differing.count,
      differingIds: this.differing.ids,
      bad: this.#bad,
      badLines: this.#badLines,
      isIncomplete: this.#isIncomplete,
      ignoredColumns: this.#ignoredColumns,
    };
  }

  refusal(refused: Refused): IntakeAnswer {
    return refused.kind === 'missing' ? refused : { ...refused, ...this.counts() };
  }
}

async function* checkedItems(
  scraper: CatalogScraper | null,
  sum: Sum,
  limit: number,
  chunks: AsyncIterable<ItemChunk>,
): AsyncGenerator<readonly NewItem[]> {
  let left = limit;
  for await (const chunk of chunks) {
    const { items, bad } = firstOf(left, scraper === null ? chunk : judgeItems(chunk, scraper));
    left -= items.length;
    sum.receive(items.length, bad);
    sum.ignore(chunk.ignoredColumns);
    // Sent even if all its lines are bad: the job must be kept open, and may have been cancelled.
    yield items.map(({ item }) => item);
    if (left <= 0) return;
  }
}

/** Items of a slow sender are due some time after the previous ones were handed over. */
async function* readInTime(
  clock: Clock,
  readChunks: (isDue: () => boolean) => AsyncIterable<ItemChunk>,
): AsyncGenerator<ItemChunk> {
  let handedOverAt = clock.elapsed();
  const isDue = () => clock.elapsed() - handedOverAt >= HAND_OVER_AFTER_MS;
  for await (const chunk of readChunks(isDue)) {
    yield chunk;
    handedOverAt = clock.elapsed();
  }
}

/** Up to the item that reaches the limit, without the lines after it. */
export function firstOf(limit: number, chunk: ItemChunk): ItemChunk {
  const last = chunk.items[limit - 1];
  if (last === undefined) return chunk;
  return { ...chunk, items: chunk.items.slice(0, limit), bad: chunk.bad.filter(({ line }) => line < last.line) };
}

/** Null for a scraper that is gone or broken: its items are added anyway, and the worker reports what is wrong. */
async function usableScraper(catalog: Pick<ScraperCatalog, 'ofJob'>, job: JobRecord): Promise<CatalogScraper | null> {
  try {
    return await catalog.ofJob(job);
  } catch {
    return null;
  }
}
