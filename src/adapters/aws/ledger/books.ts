import type { JobRecord } from '../../../domain/job.ts';
import type { Clock } from '../../../ports/clock.ts';
import type { LedgerChange } from '../../../ports/ledger.ts';
import { StorageTrouble } from '../../../ports/storage-trouble.ts';
import type { Table } from '../dynamo/table.ts';
import type { IdIndex } from '../ids/id-index.ts';
import { ItemNames } from './item-names.ts';
import { type JobRows, jobOfRows } from './job-rows.ts';
import { hotKey, jobPk, metaKey } from './keys.ts';
import type { News } from './news.ts';

/** What the books of the ledger share: the table, and the listeners for changes. */
export class Books {
  readonly table: Table;
  readonly clock: Clock;
  readonly ids: IdIndex;
  readonly names: ItemNames;
  readonly #news: News;
  readonly #turns = new Map<string, Promise<void>>();

  constructor(parts: { readonly table: Table; readonly clock: Clock; readonly ids: IdIndex; readonly news: News }) {
    this.table = parts.table;
    this.clock = parts.clock;
    this.ids = parts.ids;
    this.names = new ItemNames(parts.table);
    this.#news = parts.news;
  }

  /** One request, whatever the size of the job. */
  async readJob(jobId: string): Promise<JobRows | null> {
    for (let tries = 0; tries < MOST_LOOKS; tries += 1) {
      const rows = await this.table.all({ pk: jobPk(jobId) });
      if (rows.length === 0) return null;
      const job = jobOfRows(rows);
      if (job !== null) return job;
      // It was read in the middle of a change.
      await this.table.pause(tries);
    }
    throw new StorageTrouble('io', `the rows of the job ${jobId} do not fit together`);
  }

  /** Those that exist, in order. */
  async readJobs(jobIds: readonly string[]): Promise<readonly JobRows[]> {
    const rows = await this.table.getAll(jobIds.flatMap((jobId) => [metaKey(jobId), hotKey(jobId)]));
    const jobs = await Promise.all(
      jobIds.map((jobId, index) => {
        const two = rows.slice(2 * index, 2 * index + 2);
        return two.every((row) => row === null) ? null : (jobOfRows(two) ?? this.readJob(jobId));
      }),
    );
    return jobs.filter((job) => job !== null);
  }

  /** Repeats a change until it succeeds: `attempt` returns undefined if another writer was faster. */
  async untilDone<T>(attempt: () => Promise<T | undefined>): Promise<T> {
    for (let tries = 0; ; tries += 1) {
      const answer = await attempt();
      if (answer !== undefined) return answer;
      await this.table.pause(tries);
    }
  }

  /**
   * Runs this process's changes of a job's counters one after another: DynamoDB refuses two concurrent transactions on
   * one row, and the refused one would be repeated and get in the way of others.
   */
  async inTurn<T>(jobId: string, work: () => Promise<T>): Promise<T> {
    const before = this.#turns.get(jobId) ?? Promise.resolve();
    const { promise, resolve } = Promise.withResolvers<void>();
    const turn = before.then(() => promise);
    this.#turns.set(jobId, turn);
    await before;
    try {
      return await work();
    } finally {
      resolve();
      if (this.#turns.get(jobId) === turn) this.#turns.delete(jobId);
    }
  }

  /** Called after a change took effect. */
  tell(changes: readonly LedgerChange[]): void {
    if (changes.length > 0) this.#news.tell(changes);
  }

  tellJob(job: JobRecord, because: Extract<LedgerChange, { kind: 'job' }>['because']): void {
    this.tell([{ kind: 'job', job, because }]);
  }
}

const MOST_LOOKS = 20;
