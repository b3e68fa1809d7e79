import { isSameInput, type NewItem } from '../../../domain/item.ts';
import { acceptsItems, whenItemsAdded } from '../../../domain/job.ts';
import { takesInput } from '../../../domain/known-items.ts';
import type { AddAnswer } from '../../../ports/ledger.ts';
import { atOnce } from '../at-once.ts';
import type { Row } from '../dynamo/attributes.ts';
import type { Action } from '../dynamo/table.ts';
import type { Books } from './books.ts';
import { type ChunkItem, correctedInputRows, readChunk } from './chunk.ts';
import type { FailureGroups } from './failure-groups.ts';
import { correctedGroupRow } from './item-groups.ts';
import type { JobRows } from './job-rows.ts';
import { chunkOf } from './keys.ts';
import { locateItems } from './known-items.ts';
import { REOPEN_ACTIONS_PER_CHUNK, reopenActions } from './reopen-actions.ts';
import { TransactionRoom } from './transaction-room.ts';

type Refused = Exclude<AddAnswer, { kind: 'added' }>;

/**
 * Gives failed items another input: it is written next to the old one, named by the attempt that failed, in the
 * transaction that reopens the item. The reopen mark is the fence: a concurrent retry of the item, or another
 * correction, has changed it.
 */
export class Correcting {
  readonly #books: Books;
  readonly #groups: FailureGroups;

  constructor(books: Books, groups: FailureGroups) {
    this.#books = books;
    this.#groups = groups;
  }

  /**
   * Which of these items, no two with the same id, now have these inputs; as many at a time as fit into a transaction.
   */
  async correct(
    jobId: string,
    items: readonly NewItem[],
    openUntil: number,
  ): Promise<{ readonly kind: 'corrected'; readonly isReplaced: readonly boolean[] } | Refused> {
    const isReplaced: boolean[] = [];
    while (isReplaced.length < items.length) {
      const rest = items.slice(isReplaced.length, isReplaced.length + ITEMS_AT_ONCE);
      const step = await this.#books.untilDone(() => this.#correctSome(jobId, rest, openUntil));
      if (step.kind !== 'corrected') return step;
      isReplaced.push(...step.isReplaced);
    }
    return { kind: 'corrected', isReplaced };
  }

  async #correctSome(jobId: string, items: readonly NewItem[], openUntil: number) {
    const job = await this.#books.readJob(jobId);
    if (job === null) return { kind: 'missing' } as const;
    const { record } = job;
    if (!acceptsItems(record)) return { kind: 'closed', status: record.status } as const;
    const found = await this.#find(job, items);
    if (found === 'moved') return undefined;

    const { isReplaced, corrections } = found;
    if (corrections.length > 0) {
      const next = whenItemsAdded(record, { added: 0, replaced: corrections.length }, openUntil);
      const reopened = corrections.map(({ item }) => item);
      const actions = await reopenActions(this.#books, this.#groups, job, next, reopened);
      if (actions === 'moved') return undefined;
      const rows = corrections.flatMap((one) => one.rows.map((row): Action => ({ put: row })));
      const answer = await this.#books.table.transact([...actions, ...rows]);
      if (answer.kind === 'refused') return undefined;
      this.#books.tellJob(next, 'items');
    }
    return { kind: 'corrected', isReplaced } as const;
  }

  /** Looks at the first of the list, so many that what becomes of them goes into one transaction. */
  async #find(job: JobRows, items: readonly NewItem[]): Promise<Found | 'moved'> {
    const ids = items.map(({ itemId }) => itemId);
    const places = await locateItems(this.#books, job, ids);
    if (places === 'moved') return 'moved';
    const chunks = [...new Set(places.filter((seq) => seq !== null).map(chunkOf))];
    const read = await atOnce(CHUNKS_AT_ONCE, chunks, (chunk) => readChunk(this.#books.table, job, chunk));
    const known = new Map(read.flat().map((item) => [item.record.itemId, item]));
    const room = new TransactionRoom(REOPEN_ACTIONS_PER_CHUNK);
    const isReplaced: boolean[] = [];
    const corrections: Correction[] = [];
    for (const corrected of items) {
      const item = known.get(corrected.itemId);
      if (item === undefined || !takesInput(item.record.status)) {
        // It has the input if an earlier try of this call wrote it, and the reply was lost.
        isReplaced.push(item !== undefined && isSameInput(item.record.input, corrected.input));
        continue;
      }
      const rows = rowsOf(job, item, corrected);
      if (!room.takes(item, rows)) break;
      corrections.push({ item, rows });
      isReplaced.push(true);
    }
    return { isReplaced, corrections };
  }
}

interface Correction {
  readonly item: ChunkItem;
  readonly rows: readonly Row[];
}

interface Found {
  /** One entry for each item that was examined. */
  readonly isReplaced: readonly boolean[];
  readonly corrections: readonly Correction[];
}

function rowsOf({ inc }: JobRows, { record, last }: ChunkItem, corrected: NewItem): readonly Row[] {
  const { seq, group: before = null } = record;
  const attempt = last?.attempt ?? 0;
  const { group = null } = corrected;
  const inputs = correctedInputRows(inc, seq, attempt, corrected);
  return group === before ? inputs : [...inputs, correctedGroupRow(inc, seq, attempt, group)];
}

/** Few enough that what is read for them is bounded, when each is in a chunk of its own. */
const ITEMS_AT_ONCE = 100;
const CHUNKS_AT_ONCE = 8;
