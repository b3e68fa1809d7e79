import { join } from 'node:path';
import { type Config, ConfigError } from '../config.ts';
import { Interrupted, Refused } from '../contract/client/api-error.ts';
import { jobPath } from '../contract/client/api-paths.ts';
import type { AddedAnswer } from '../contract/item-answers.ts';
import type { JobAnswer, JobPageAnswer, RetriedAnswer } from '../contract/job-answers.ts';
import type { Lane } from '../domain/lane.ts';
import { openPrivateService, type PrivateService, type WorkerDeath } from '../main/private-service.ts';
import type { ColumnQuery } from './client/columns.ts';
import { type Client, openClient } from './client/command.ts';
import { CommandFailed } from './client/command-failure.ts';
import { fileTarget } from './client/file-target.ts';
import type { Terminal } from './client/terminal.ts';
import { printable } from './format.ts';
import { exportTo } from './jobs/export.ts';
import { addedText, createHeld, type Filling, refusalOf, sendItems, startFilled } from './jobs/fill-job.ts';
import type { ItemList } from './jobs/item-list.ts';
import { commandLine } from './jobs/job-text.ts';
import { isOver, watchJob } from './jobs/watch-job.ts';
import type { ResultsFile, RunReport } from './run-report.ts';

export interface RunRequest {
  readonly config: Config;
  readonly jobId: string;
  readonly scraperId: string;
  /** The workers that the scraper needs. */
  readonly lane: Lane;
  /** Null if the user gave none, which is fine for a job that has its items already. */
  readonly list: ItemList | null;
  readonly limit?: number;
  /** How the columns of a CSV are to be read. */
  readonly columns: ColumnQuery;
  /** Fields of the policy to set; null leaves it as it is. */
  readonly policy: object | null;
  readonly retryFailed: boolean;
  /** As typed, for the command that continues. */
  readonly words: readonly string[];
  readonly terminal: Terminal;
  /** Aborts when the user wants it to stop. */
  readonly signal: AbortSignal;
}

/**
 * A job here and now, on a service of this process: the commands of `trawl jobs create --watch` and `trawl jobs export`
 * in one, with a folder that holds the job, and workers for as long as it takes.
 */
export async function runJob(request: RunRequest): Promise<RunReport> {
  const { config, lane, signal, terminal } = request;
  const onDeath = ({ error, code, signal: by }: WorkerDeath) => {
    // Ctrl-C reaches the workers, too.
    if (signal.aborted) return;
    const how = error ?? (by === null ? `with code ${code}` : `by ${by}`);
    terminal.note(`A worker process ended ${how}. Another takes its place, and its items are tried again.`);
  };
  const service = await openPrivateService(config, { lane, onDeath });
  try {
    return await new Run(service, request).carryOut();
  } finally {
    await service.stop();
  }
}

/** Rows that take long enough for a user to wonder. */
const LONG_EXPORT = 20_000;

class Run {
  readonly #service: PrivateService;
  readonly #request: RunRequest;
  /** Its calls end when the user stops the run. */
  readonly #client: Client;
  /** Its calls do not: for the report. */
  readonly #reporting: Client;
  readonly #path: string;

  constructor(service: PrivateService, request: RunRequest) {
    this.#service = service;
    this.#request = request;
    this.#client = openClient(request.terminal, service.address, request.signal);
    this.#reporting = openClient(request.terminal, service.address, new AbortController().signal);
    this.#path = jobPath(request.jobId);
  }

  async carryOut(): Promise<RunReport> {
    const { jobId, config, words, signal, terminal } = this.#request;
    const { clock } = this.#service;
    const startedAt = clock.elapsed();
    let finishedBefore = 0;
    let added: AddedAnswer | null = null;
    let isFilled = false;
    try {
      const found = await this.#find();
      if (found === null) await this.#create();
      else finishedBefore = (await this.#takeUp(found)).progress.completed;
      added = await this.#fill(found);
      isFilled = true;
      finishedBefore -= added?.replaced ?? 0;
      // After the list was sent: an item takes a corrected input only while it is failed.
      if (found !== null && this.#reopens(found)) finishedBefore -= await this.#reopenFailed();
      // A job that was done may have more to do now.
      if (!isOver(await this.#job())) this.#service.startWorkers();
      await watchJob(this.#client, jobId);
    } catch (error) {
      if (!signal.aborted) throw error;
    }
    const elapsedMs = clock.elapsed() - startedAt;
    const isStopped = signal.aborted && !isOver(await this.#job());
    if (isStopped) {
      terminal.note('Stopping: workers finish or give back what they have. Press Ctrl-C again to end at once.');
    }
    await this.#service.stopWorkers();
    const job = await this.#job();
    const results = isOver(job) ? await this.#export(job) : null;
    return {
      ...{ job, dataDir: config.dataDir, finishedBefore, elapsedMs, added, results, words },
      isInterrupted: signal.aborted && results === null,
      isPartlyRead: !isFilled,
    };
  }

  /** The job of an earlier run. A folder holds one job, so that its results are one file and its command names no job. */
  async #find(): Promise<JobAnswer | null> {
    const { jobId, config } = this.#request;
    const { jobs } = await this.#client.api.get<JobPageAnswer>('/jobs', { limit: 2 });
    const other = jobs.find((job) => job.job_id !== jobId);
    if (other !== undefined) {
      throw new ConfigError(
        `${config.dataDir} holds the job ${printable(other.job_id)}: give this run a folder of its own with --out`,
      );
    }
    return jobs.length === 0 ? null : await this.#client.api.get<JobAnswer>(this.#path);
  }

  #reopens({ summary }: JobAnswer): boolean {
    return this.#request.retryFailed && summary.failed > 0;
  }

  async #create(): Promise<void> {
    const { list, jobId, scraperId, policy } = this.#request;
    if (list === null) throw new ConfigError('no items given: use --items FILE or --input name=value');
    await createHeld(this.#client, {
      job_id: jobId,
      scraper_id: scraperId,
      ...(policy === null ? {} : { execution_policy: policy }),
    });
  }

  /** Makes a job of an earlier run continue. */
  async #takeUp(found: JobAnswer): Promise<JobAnswer> {
    const { list, config, policy } = this.#request;
    const { api } = this.#client;
    if (found.status === 'cancelled') {
      throw new ConfigError(`the job in ${config.dataDir} is cancelled: use another --out`);
    }
    if (found.held && list === null) {
      throw new ConfigError(`the items of the job in ${config.dataDir} were not all read: give --items again`);
    }
    const reopens = this.#reopens(found);
    if (policy !== null && (found.status !== 'completed' || reopens)) {
      await api.json<JobAnswer>({ method: 'PATCH', path: this.#path, body: { execution_policy: policy } });
    }
    const isStopped = found.status === 'failed' || found.status === 'paused';
    // A pause for storage ends by itself.
    if (isStopped && found.reason?.code !== 'storage') await api.post(`${this.#path}/resume`);
    return await api.get<JobAnswer>(this.#path);
  }

  async #reopenFailed(): Promise<number> {
    const { api } = this.#client;
    const { items } = await api.post<RetriedAnswer>(`${this.#path}/retry`, {}, { isRepeatable: true });
    return items;
  }

  /** Sends the items, and starts a job that waited for them. */
  async #fill(found: JobAnswer | null): Promise<AddedAnswer | null> {
    const { list, limit, columns, jobId, words } = this.#request;
    if (list === null) return null;
    const isToBeStarted = found === null || found.held;
    const filling: Filling = {
      ...{ jobId, list, columns, isToBeStarted, again: commandLine(words) },
      ...{ corrected: 'run the command again', startAsIs: null },
      ...(limit === undefined ? {} : { limit }),
    };
    const added = await sendItems(this.#client, filling);
    // That every item of a new list was added, or none of one that was read before, is as expected.
    const unexpected = found === null ? added.duplicates : added.added;
    const differing = added.replaced + added.conflicts;
    const isNews = unexpected + differing + added.bad + added.ignored_columns.length > 0;
    if (isNews) this.#client.note(addedText(added));
    const refused = await refusalOf(this.#client, filling, added);
    if (refused !== null) throw new CommandFailed(refused.why);
    await startFilled(this.#client, filling);
    return added;
  }

  async #job(): Promise<JobAnswer> {
    try {
      return await this.#reporting.api.get<JobAnswer>(this.#path);
    } catch (error) {
      // Stopped before there was a job.
      throw this.#request.signal.aborted && error instanceof Refused ? new Interrupted() : error;
    }
  }

  /** Null if the user stopped it; a file that was there before stays. */
  async #export(job: JobAnswer): Promise<ResultsFile | null> {
    const { jobId, config } = this.#request;
    const path = join(config.dataDir, 'results.jsonl');
    const target = await fileTarget(path, { keepsUnfinished: false });
    try {
      const wish = { format: 'jsonl', showsProgress: job.summary.total >= LONG_EXPORT };
      const { rows, withoutData } = await exportTo(this.#client, target, jobId, wish);
      return { path, rows: rows ?? 0, withoutData };
    } catch (error) {
      if (error instanceof Interrupted) return null;
      throw error;
    }
  }
}
