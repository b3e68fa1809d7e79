import { type Config, ConfigError } from '../config.ts';
import { Interrupted, Refused } from '../contract/client/api-error.ts';
import { jobPath } from '../contract/client/api-paths.ts';
import type { ChangesAnswer, ComparisonAnswer } from '../contract/extraction-answers.ts';
import type { AddedAnswer } from '../contract/item-answers.ts';
import type { JobAnswer, JobPageAnswer, RetriedAnswer } from '../contract/job-answers.ts';
import type { Lane } from '../domain/lane.ts';
import { openPrivateService, type PrivateService, type WorkerDeath } from '../main/private-service.ts';
import type { ColumnQuery } from './client/columns.ts';
import { type Client, openClient } from './client/command.ts';
import { CommandFailed } from './client/command-failure.ts';
import { fileTarget } from './client/file-target.ts';
import type { Terminal } from './client/terminal.ts';
import { formatItems, printable } from './format.ts';
import { exportTo } from './jobs/export.ts';
import { addedText, createHeld, type Filling, refusalOf, sendItems, startFilled } from './jobs/fill-job.ts';
import type { ItemList } from './jobs/item-list.ts';
import { commandLine } from './jobs/job-text.ts';
import { isOver, watchJob } from './jobs/watch-job.ts';
import { readFirstData } from './run-data.ts';
import { compareRounds } from './run-difference.ts';
import { extractAgain } from './run-extraction.ts';
import {
  chooseJob,
  extractionOf,
  type FolderJob,
  hasScraperChanged,
  isOfList,
  type ListChoice,
  type ListWish,
  listLabels,
  otherUnfinished,
  type ScraperCode,
  shown,
} from './run-lists.ts';
import type { ResultsFile, RunReport, ScraperChange } from './run-report.ts';
import { type ResultsWish, resultsPath } from './run-results.ts';

export interface RunRequest {
  readonly config: Config;
  readonly scraper: RunScraper;
  /** Which job of the folder to run. */
  readonly wish: Omit<ListWish, 'scraperId'>;
  /** Null if the user gave none, which is fine for a job that already has its items. */
  readonly list: ItemList | null;
  readonly limit?: number;
  /** How the columns of a CSV are read. */
  readonly columns: ColumnQuery;
  /** Fields of the policy to set; null leaves it as it is. */
  readonly policy: object | null;
  readonly retryFailed: boolean;
  /** Parse the stored pages again once the job is completed. */
  readonly extract: boolean;
  /** Compare the round with the previous one. */
  readonly diff: boolean;
  /** A single item given on the command line: its data are printed at once. */
  readonly isByHand: boolean;
  readonly results: ResultsWish;
  /** As typed, for the command that continues. */
  readonly words: readonly string[];
  readonly terminal: Terminal;
  /** Aborts when the user wants it to stop. */
  readonly signal: AbortSignal;
}

export interface RunScraper extends ScraperCode {
  readonly id: string;
  /** The kind of workers it needs. */
  readonly lane: Lane;
  readonly canExtract: boolean;
}

/**
 * Runs a job on a service inside this process: `trawl jobs create --watch` and `trawl jobs export` in one, with a
 * folder that holds the job, and workers for as long as it runs.
 */
export async function runJob(request: RunRequest): Promise<RunReport> {
  const { config, scraper, wish, signal, terminal } = request;
  const onDeath = ({ error, code, signal: by }: WorkerDeath) => {
    // Ctrl-C reaches the workers as well.
    if (signal.aborted) return;
    const how = error ?? (by === null ? `with code ${code}` : `by ${by}`);
    terminal.note(`A worker process ended ${how}. Another takes its place, and its items are tried again.`);
  };
  const isWanted = (job: Parameters<typeof isOfList>[0]) => isOfList(job, wish.name);
  const service = await openPrivateService(config, { lane: scraper.lane, onDeath, isWanted });
  try {
    return await new Run(service, request).carryOut();
  } finally {
    await service.stop();
  }
}

/** Exports that take long enough for a user to wonder. */
const LONG_EXPORT = 20_000;

class Run {
  readonly #service: PrivateService;
  readonly #request: RunRequest;
  /** Its calls end when the user stops the run. */
  readonly #client: Client;
  /** Its calls are not aborted: used for the report. */
  readonly #reporting: Client;
  /** Null until the jobs in the folder are known. */
  #choice: ListChoice | null = null;
  #jobs: readonly FolderJob[] = [];

  constructor(service: PrivateService, request: RunRequest) {
    this.#service = service;
    this.#request = request;
    this.#client = openClient(request.terminal, service.address, request.signal);
    this.#reporting = openClient(request.terminal, service.address, new AbortController().signal);
  }

  async carryOut(): Promise<RunReport> {
    const { config, words, signal, terminal, scraper, extract, isByHand } = this.#request;
    const { clock } = this.#service;
    const startedAt = clock.elapsed();
    let finishedBefore = 0;
    let added: AddedAnswer | null = null;
    let isFilled = false;
    let scraperChange: ScraperChange | null = null;
    let changes: ChangesAnswer | null = null;
    try {
      const choice = await this.#choose();
      const found = choice.isThere ? await this.#client.api.get<JobAnswer>(jobPath(choice.jobId)) : null;
      if (found === null) await this.#create(choice);
      else {
        scraperChange = this.#scraperChange(found);
        // Workers may be running: by the time `found` was read, they may have finished items of this run.
        finishedBefore = this.#service.finishedBefore.get(found.job_id) ?? found.progress.completed;
        await this.#takeUp(found);
      }
      added = await this.#fill(found);
      isFilled = true;
      finishedBefore -= added?.replaced ?? 0;
      // After the list was sent: an item takes a corrected input only while it is failed.
      if (found !== null && this.#reopens(found)) finishedBefore -= await this.#reopenFailed(found.job_id);
      // A job that was done may have more to do now.
      if (!isOver(await this.#job())) this.#service.startWorkers();
      const ended = await watchJob(this.#client, choice.jobId);
      if (extract && ended.status === 'completed') changes = await this.#extract(choice);
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
      ...{ job, choice: this.#chosen, dataDir: config.dataDir, finishedBefore, elapsedMs, added, results, words },
      ...{ scraperChange, changes, canExtract: scraper.canExtract },
      difference: await this.#difference(job),
      isByHand,
      data: isByHand && isOver(job) ? await readFirstData(this.#reporting, job.job_id) : null,
      isInterrupted: signal.aborted && results === null,
      isPartlyRead: !isFilled,
    };
  }

  get #chosen(): ListChoice {
    // Stopped before there was a job.
    if (this.#choice === null) throw new Interrupted();
    return this.#choice;
  }

  /** Chooses the job in the folder, and keeps all others from running beside it. */
  async #choose(): Promise<ListChoice> {
    const { wish, config, scraper, terminal } = this.#request;
    const { api } = this.#client;
    this.#jobs = await readJobs(this.#client);
    const choice = chooseJob(this.#jobs, { ...wish, scraperId: scraper.id }, config.dataDir);
    if (choice === null) throw new ConfigError(NO_ITEMS);
    this.#choice = choice;
    for (const { job_id: id } of otherUnfinished(this.#jobs, choice.jobId)) {
      await api.post(`${jobPath(id)}/pause`);
      terminal.note(`Job ${printable(id)} in the same folder is unfinished and waits until it is run again.`);
    }
    return choice;
  }

  /** Null if the current scraper made the results, or the user has chosen what to do about it. */
  #scraperChange(found: JobAnswer): ScraperChange | null {
    const { scraper, retryFailed, extract } = this.#request;
    if (retryFailed || extract || found.progress.completed === 0) return null;
    const ran = found.results.scraper_versions ?? [found.scraper_version];
    if (!hasScraperChanged(this.#jobs, found, ran, scraper)) return null;
    return { from: ran, to: scraper.version };
  }

  #reopens({ summary }: JobAnswer): boolean {
    return this.#request.retryFailed && summary.failed > 0;
  }

  async #create(choice: ListChoice): Promise<void> {
    const { list, scraper, policy, wish, config, terminal, isByHand } = this.#request;
    if (list === null) throw new ConfigError(choice.round > 1 ? '--again needs the list: give --items FILE' : NO_ITEMS);
    await createHeld(this.#client, {
      job_id: choice.jobId,
      scraper_id: scraper.id,
      labels: listLabels(choice, { source: wish.source, code: scraper.code }),
      ...(policy === null ? {} : { execution_policy: policy }),
    });
    if (isByHand) return;
    if (choice.round > 1) {
      terminal.note(`Round ${choice.round} of ${choice.list} is job ${choice.jobId}.`);
    } else if (choice.others.length > 0) {
      terminal.note(`New job ${choice.jobId}: ${config.dataDir} also holds ${shown(choice.others)}.`);
    }
  }

  /** Continues the job of an earlier run. */
  async #takeUp(found: JobAnswer): Promise<void> {
    const { list, config, policy } = this.#request;
    const { api } = this.#client;
    const path = jobPath(found.job_id);
    if (found.status === 'cancelled') {
      throw new ConfigError(
        `job ${found.job_id} in ${config.dataDir} is cancelled: use --again to scrape the list again`,
      );
    }
    if (found.held && list === null) {
      throw new ConfigError(`the items of job ${found.job_id} were not all read: give --items again`);
    }
    const reopens = this.#reopens(found);
    if (policy !== null && (found.status !== 'completed' || reopens)) {
      await api.json<JobAnswer>({ method: 'PATCH', path, body: { execution_policy: policy } });
    }
    const isStopped = found.status === 'failed' || found.status === 'paused';
    // A pause for storage ends by itself.
    if (isStopped && found.reason?.code !== 'storage') await api.post(`${path}/resume`);
  }

  async #reopenFailed(jobId: string): Promise<number> {
    const { api } = this.#client;
    const { items } = await api.post<RetriedAnswer>(`${jobPath(jobId)}/retry`, {}, { isRepeatable: true });
    return items;
  }

  /** Sends the items, and starts a job that waited for them. */
  async #fill(found: JobAnswer | null): Promise<AddedAnswer | null> {
    const { list, limit, columns, words } = this.#request;
    const { jobId } = this.#chosen;
    if (list === null) return null;
    const isToBeStarted = found === null || found.held;
    const filling: Filling = {
      ...{ jobId, list, columns, isToBeStarted, again: commandLine(words) },
      ...{ corrected: 'run the command again', startAsIs: null },
      ...(limit === undefined ? {} : { limit }),
    };
    const added = await sendItems(this.#client, filling);
    // It is normal that every item of a new list is added, and none of a list that was read before.
    const unexpected = found === null ? added.duplicates : added.added;
    const differing = added.replaced + added.conflicts;
    const isNews = unexpected + differing + added.bad + added.ignored_columns.length > 0;
    if (isNews) this.#client.note(addedText(added));
    const before = found === null || found.held ? 0 : found.summary.total;
    if (before > 0 && added.added > 0) {
      this.#client.note(`Job ${jobId} had ${formatItems(before)} before, which stay part of it.`);
    }
    const refused = await refusalOf(this.#client, filling, added);
    if (refused !== null) throw new CommandFailed(refused.why);
    await startFilled(this.#client, filling);
    return added;
  }

  async #job(): Promise<JobAnswer> {
    try {
      return await this.#reporting.api.get<JobAnswer>(jobPath(this.#chosen.jobId));
    } catch (error) {
      // Stopped before there was a job.
      throw this.#request.signal.aborted && error instanceof Refused ? new Interrupted() : error;
    }
  }

  async #extract({ jobId }: ListChoice): Promise<ChangesAnswer> {
    this.#service.startWorkers();
    const extraction = extractionOf(this.#jobs, jobId, this.#request.scraper);
    return await extractAgain(this.#client, jobId, extraction, commandLine(this.#request.words));
  }

  /** Null if it was not requested, or there is nothing to compare with. */
  async #difference(job: JobAnswer): Promise<ComparisonAnswer | null> {
    const { diff, words, signal, terminal } = this.#request;
    const { before, list } = this.#chosen;
    if (!diff || signal.aborted || !isOver(job) || job.status === 'paused') return null;
    if (before === null) {
      terminal.note(`${printable(list)} has no earlier round to compare with.`);
      return null;
    }
    const { status } = await this.#client.api.get<JobAnswer>(jobPath(before));
    if (status !== 'completed' && status !== 'failed' && status !== 'cancelled') {
      terminal.note(`The round before, job ${printable(before)}, is not finished: there is nothing to compare with.`);
      return null;
    }
    return await compareRounds(this.#client, job.job_id, before, commandLine(words));
  }

  /** Null if the user stopped it; an existing file is left unchanged. */
  async #export(job: JobAnswer): Promise<ResultsFile | null> {
    const { config, results, isByHand } = this.#request;
    const choice = this.#chosen;
    // Single items are run often: only the results of the last one are written to a file.
    const isFirst = isByHand ? choice.others.length === 0 : choice.isFirst;
    const path = resultsPath(results, config.dataDir, { jobId: isByHand ? choice.list : choice.jobId, isFirst });
    const target = await fileTarget(path, { keepsUnfinished: false });
    try {
      const wish = { format: results.format, showsProgress: job.summary.total >= LONG_EXPORT };
      const { rows, withoutData } = await exportTo(this.#client, target, job.job_id, wish);
      return { path, rows, withoutData };
    } catch (error) {
      if (error instanceof Interrupted) return null;
      throw error;
    }
  }
}

const NO_ITEMS = 'no items given: use --items FILE or --input name=value';

async function readJobs({ api }: Client): Promise<readonly FolderJob[]> {
  const all: FolderJob[] = [];
  let cursor: string | null = null;
  do {
    const page: JobPageAnswer = await api.get<JobPageAnswer>('/jobs', {
      limit: 100,
      ...(cursor === null ? {} : { cursor }),
    });
    all.push(...page.jobs.filter(({ removing }) => !removing));
    cursor = page.next_cursor;
  } while (cursor !== null);
  return all;
}
