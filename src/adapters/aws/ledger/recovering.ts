import { isRecoverable } from '../../../domain/attempts.ts';
import { type RecoveredItem, recoveryOf } from '../../../domain/item.ts';
import { isRefusal, type JobRecord } from '../../../domain/job.ts';
import { whenRecovered } from '../../../domain/job-replacement.ts';
import type { RecoverAnswer } from '../../../ports/ledger.ts';
import { atOnce } from '../at-once.ts';
import type { Action } from '../dynamo/table.ts';
import type { Books } from './books.ts';
import { type ChunkItem, readChunk } from './chunk.ts';
import { directoryActions } from './directories.ts';
import type { FailureGroups } from './failure-groups.ts';
import { hotAction, hotSetOf } from './hot-change.ts';
import { sameEpoch } from './job-book.ts';
import { type JobRows, metaRow } from './job-rows.ts';
import { chunkOf } from './keys.ts';
import { type OutcomeEntry, outcomeRows } from './outcome-log.ts';
import { failureOf, TransactionRoom } from './transaction-room.ts';

/**
 * Turns failed items into successes after a re-extraction could read their pages: one more outcome in their chunk, with
 * the next number. The job's epoch is the fence: reopening one of them, or replacing the results again, changes it.
 */
export class Recovering {
  readonly #books: Books;
  readonly #groups: FailureGroups;

  constructor(books: Books, groups: FailureGroups) {
    this.#books = books;
    this.#groups = groups;
  }

  async recover(jobId: string, by: string, items: readonly RecoveredItem[]): Promise<RecoverAnswer> {
    return await this.#books.untilDone<RecoverAnswer>(async () => {
      const job = await this.#books.readJob(jobId);
      if (job === null) return { kind: 'missing' };
      const { taken, found } = await this.#find(job, items);
      const next = whenRecovered(job.record, by, found.length);
      if (isRefusal(next)) return next;
      if (found.length > 0) {
        const answer = await this.#books.table.transact(await this.#actions(job, next, by, found));
        if (answer.kind === 'refused') return undefined;
        this.#books.tellJob(next, 'recover');
      }
      return { kind: 'recovered', taken, items: found.length };
    });
  }

  /**
   * The first items of the list that fit into one transaction, and those of them that failed and were not tried since.
   */
  async #find(job: JobRows, items: readonly RecoveredItem[]): Promise<{ taken: number; found: readonly Found[] }> {
    const wanted = items.slice(0, MOST_ITEMS);
    const chunks = [...new Set(wanted.map(({ seq }) => chunkOf(seq)))].slice(0, MOST_CHUNKS);
    const read = await atOnce(CHUNKS_AT_ONCE, chunks, (chunk) => readChunk(this.#books.table, job, chunk));
    const known = new Map(read.flat().map((item) => [item.record.seq, item]));
    const room = new TransactionRoom(ACTIONS_PER_CHUNK);
    const found = new Map<number, Found>();
    let taken = 0;
    for (const recovered of wanted) {
      const { seq } = recovered;
      if (!chunks.includes(chunkOf(seq))) break;
      const item = known.get(seq);
      taken += 1;
      if (item === undefined) continue;
      if (!isRecoverable({ status: item.record.status, lastAttempt: item.last?.attempt }, recovered)) continue;
      if (!room.takes(item)) {
        taken -= 1;
        break;
      }
      found.set(seq, { item, recovered });
    }
    return { taken, found: [...found.values()] };
  }

  async #actions(job: JobRows, record: JobRecord, by: string, found: readonly Found[]): Promise<readonly Action[]> {
    const { inc, epoch } = job;
    const set = hotSetOf(job, record);
    const { failed: _f, success: _s, ...numbers } = set.numbers ?? {};
    // Counted, not set: others may end at this moment.
    const add = { failed: -found.length, success: found.length };
    const rows: Action[] = [];
    for (const [chunk, ofChunk] of Map.groupBy(found, ({ recovered }) => chunkOf(recovered.seq))) {
      const attempts = ofChunk.map(({ recovered }) => recovered.attempt);
      const { before, row } = outcomeRows({ inc, chunk, id: '' }, `recovery ${by} ${attempts}`, ofChunk.map(entryOf));
      if (before.length > 0) await this.#books.table.putAll(before);
      rows.push({ put: row });
    }
    return [
      { put: metaRow({ ...job, record, epoch: epoch + 1 }), when: sameEpoch(job) },
      hotAction(record.jobId, add, { ...set, numbers: { ...numbers, epoch: epoch + 1 } }, { inc, epoch }),
      ...directoryActions(inc, record.jobId, job.record, record),
      ...rows,
      ...(await this.#groups.uncounting(
        inc,
        found.flatMap(({ item }) => failureOf(item)),
      )),
    ];
  }
}

interface Found {
  readonly item: ChunkItem;
  readonly recovered: RecoveredItem;
}

function entryOf({ item, recovered }: Found): OutcomeEntry {
  const { failure: _, ...reading } = recoveryOf(recovered);
  const { strikes } = item.record;
  return {
    ...reading,
    seq: recovered.seq,
    artifacts: recovered.artifacts,
    ...(strikes > 0 ? { strikes } : {}),
  };
}

const ACTIONS_PER_CHUNK = 1;
const MOST_ITEMS = 1000;
const MOST_CHUNKS = 80;
const CHUNKS_AT_ONCE = 8;
