import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { type Config, ConfigError } from '../config.ts';
import { finishedOf } from '../domain/counts.ts';
import { isActive, type JobRecord } from '../domain/job.ts';
import type { Policy } from '../domain/policy.ts';
import { type OpenController, openController } from '../main/controller.ts';
import { openLog } from '../main/log.ts';
import { formatCount, printable } from './format.ts';
import { ProgressDisplay, type Screen } from './progress-display.ts';
import { writeResults } from './results-file.ts';
import type { ItemSource, SourceChunk } from './run-items.ts';
import type { RunReport } from './run-report.ts';
import { JobWatch } from './run-watch.ts';

export interface RunRequest {
  readonly config: Config;
  readonly jobId: string;
  readonly scraperId: string;
  readonly source: ItemSource | null;
  /** The policy of the job, from the one it has already; null leaves it as it is. */
  readonly policy: ((current: Policy | null) => Policy) | null;
  readonly retryFailed: boolean;
  /** As typed, for the command to go on with. */
  readonly words: readonly string[];
  readonly screen: Screen;
  /** Aborts when the user wants it to stop. */
  readonly signal: AbortSignal;
}

const MAX_BAD_LINES = 10;

/**
 * A job here and now. A new job is held until all of its items are in the ledger, so that a run which dies while it reads
 * can be repeated: the job has not begun, let alone ended, and items that it has already are passed over.
 */
export async function runJob(request: RunRequest): Promise<RunReport> {
  const log = openLog(request.config);
  const controller = await openController(request.config, log);
  try {
    const run = new Run(controller, request);
    return await run.carryOut(() => {
      // Workers that leave because they are told to are no news.
      log.level = 'error';
    });
  } finally {
    log.level = 'error';
    await controller.stop();
  }
}

class Run {
  readonly #controller: OpenController;
  readonly #request: RunRequest;
  readonly #startedAt: number;
  readonly #bad: { line: number; problem: string }[] = [];
  #badCount = 0;
  #endedAt: number;
  #repeated = 0;
  #isPartlyRead = false;
  #isEnding = false;

  constructor(controller: OpenController, request: RunRequest) {
    this.#controller = controller;
    this.#request = request;
    this.#startedAt = controller.clock.elapsed();
    this.#endedAt = this.#startedAt;
  }

  async carryOut(beforeStop: () => void): Promise<RunReport> {
    const { jobId, signal, screen, config, retryFailed } = this.#request;
    await this.#refuseOtherJobs();
    const found = await this.#controller.findJob(jobId);
    const first = found ?? (await this.#create());
    // What the job has may be done before the list is read: it must not be over by then.
    if (found !== null && this.#request.source !== null) await this.#keepOpen();
    const watch = new JobWatch(this.#controller, first);
    const display = new ProgressDisplay({ screen, clock: this.#controller.clock, look: () => watch.progress() });
    watch.onChange(() => display.poke());
    const startWorkers = () => {
      const started = this.#controller.startWorkers();
      started.onChange((change) => {
        if (change.kind !== 'died' || this.#isEnding || signal.aborted) return;
        const how = change.error ?? (change.signal === null ? `with code ${change.code}` : `by ${change.signal}`);
        display.note(`A worker process ended ${how}; another takes its place, and its items are tried again.`);
      });
      return started;
    };
    const isDone = found?.status === 'completed' && !(retryFailed && found.counts.failed > 0);
    let pool = isDone ? null : startWorkers();
    let finishedBefore = finishedOf(first.counts);
    try {
      if (found !== null) finishedBefore = finishedOf((await this.#takeUp(found)).counts);
      watch.say('reading items');
      await this.#import(found === null);
      watch.say(null);
      // The list may have items that a job which was done does not have yet.
      if (isDone && (await this.#controller.findJob(jobId))?.status === 'in_progress') pool = startWorkers();
      if (!this.#isPartlyRead) await watch.untilOver(signal);
      const over = await this.#controller.findJob(jobId);
      const isInterrupted = signal.aborted && (over === null || isActive(over));
      if (isInterrupted)
        display.note('Stopping: workers finish or give back what they have. Ctrl-C again ends it at once.');
      this.#endedAt = this.#controller.clock.elapsed();
      this.#isEnding = true;
      beforeStop();
      await pool?.stop(config.drainGraceMs + 5000);
    } finally {
      this.#isEnding = true;
      watch.close();
      await display.stop();
    }
    return await this.#report(finishedBefore);
  }

  /** The folder of a run holds one job, so that its results are in one file and its command needs no job's name. */
  async #refuseOtherJobs(): Promise<void> {
    const { jobId, config } = this.#request;
    const jobs = await this.#controller.firstJobs(2);
    const other = jobs.find((job) => job.jobId !== jobId);
    if (other === undefined) return;
    throw new ConfigError(
      `${config.dataDir} holds the job ${other.jobId}: give this run a folder of its own with --out`,
    );
  }

  async #create(): Promise<JobRecord> {
    const { source, jobId, scraperId, policy } = this.#request;
    if (source === null) throw new ConfigError('what shall it run on? Give --items FILE or --input name=value');
    const answer = await this.#controller.submit({
      job_id: jobId,
      scraper_id: scraperId,
      hold: true,
      ...(policy === null ? {} : { execution_policy: policy(null) }),
    });
    if (answer.kind === 'bad') {
      throw new ConfigError(answer.problems.map(({ path, message }) => `${path}: ${message}`).join('\n'));
    }
    return answer.job;
  }

  async #keepOpen(): Promise<void> {
    await this.#controller.keepOpen(this.#request.jobId);
  }

  /** Makes a job that was here before go on. */
  async #takeUp(found: JobRecord): Promise<JobRecord> {
    const { jobId, source, config, policy, retryFailed } = this.#request;
    if (found.status === 'cancelled')
      throw new ConfigError(`the job in ${config.dataDir} is cancelled: use another --out`);
    if (found.held && source === null) {
      throw new ConfigError(`the items of the job in ${config.dataDir} were not all read: give --items again`);
    }
    const opens = retryFailed && found.counts.failed > 0;
    const wanted = policy?.(found.policy) ?? found.policy;
    if (!isDeepStrictEqual(wanted, found.policy) && (found.status !== 'completed' || opens)) {
      await this.#controller.changeJob(jobId, { kind: 'policy', policy: wanted });
    }
    const isStopped = found.status === 'failed' || found.status === 'paused';
    // A pause for storage is the engine's to end.
    if (isStopped && found.reason?.code !== 'storage') await this.#controller.changeJob(jobId, { kind: 'resume' });
    if (opens) await this.#reopenFailed();
    return (await this.#controller.findJob(jobId)) ?? found;
  }

  async #reopenFailed(): Promise<void> {
    const all = { errorType: null, itemIds: null, preview: false };
    const answer = await this.#controller.retry(this.#request.jobId, all);
    if (answer.kind === 'refused') throw new Error(`failed items cannot be tried again: ${answer.because}`);
  }

  async #import(isNew: boolean): Promise<void> {
    const { source, jobId, signal } = this.#request;
    if (source === null) return;
    const answer = await this.#controller.importItems(jobId, this.#itemsOf(source.open()));
    if ('kind' in answer) {
      this.#isPartlyRead = true;
      return;
    }
    if (isNew) this.#repeated = answer.duplicates;
    this.#isPartlyRead = signal.aborted;
    if (this.#isPartlyRead) return;
    const job = await this.#controller.findJob(jobId);
    if (job?.counts.total === 0) {
      const [bad] = this.#bad;
      const why =
        bad === undefined
          ? ''
          : `: ${formatCount(this.#badCount)} lines cannot be read, line ${bad.line}: ${bad.problem}`;
      throw new ConfigError(`${source.name} has no items${printable(why)}`);
    }
    if (job?.held) await this.#controller.changeJob(jobId, { kind: 'start' });
  }

  async *#itemsOf(chunks: AsyncGenerator<SourceChunk>) {
    for await (const { items, bad } of chunks) {
      this.#badCount += bad.length;
      this.#bad.push(...bad.slice(0, MAX_BAD_LINES - this.#bad.length));
      if (items.length > 0) yield items;
      if (this.#request.signal.aborted) return;
    }
  }

  async #report(finishedBefore: number): Promise<RunReport> {
    const { jobId, config, signal, words } = this.#request;
    const elapsedMs = this.#endedAt - this.#startedAt;
    const job = await this.#controller.findJob(jobId);
    if (job === null) throw new Error(`the job ${jobId} is gone`);
    const isUnfinished = isActive(job);
    const results = isUnfinished
      ? null
      : await writeResults(this.#controller, jobId, join(config.dataDir, 'results.jsonl'), signal);
    return {
      job,
      dataDir: config.dataDir,
      isInterrupted: signal.aborted && (isUnfinished || results === null),
      isPartlyRead: this.#isPartlyRead,
      finishedBefore,
      elapsedMs,
      failures: await this.#controller.failureGroups(jobId, 50),
      badLines: { count: this.#badCount, first: this.#bad },
      repeated: this.#repeated,
      results,
      words,
    };
  }
}
