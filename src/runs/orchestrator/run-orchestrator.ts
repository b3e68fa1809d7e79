import type { CatalogScraper, ScraperCatalog } from '../../controller/intake/scraper-catalog.ts';
import { createInChunks } from '../../controller/jobs/create-in-chunks.ts';
import { createWithRecording, type KeepDeps } from '../../controller/jobs/recordings/keep-for-job.ts';
import type { Digest } from '../../domain/artifact.ts';
import { MAX_BATCH_ITEMS } from '../../domain/batching.ts';
import type { JobRecord, NewJob } from '../../domain/job.ts';
import type { Prices } from '../../domain/prices.ts';
import { DEFAULT_ITEMS_PER_SESSION, DEFAULT_STRATEGY } from '../../domain/run-options.ts';
import { nextRunStep, type RunOrder, type RunRetry, runJobId, runLabels, runOfJob } from '../../domain/run-order.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Faults } from '../../ports/faults.ts';
import type { Ledger, LedgerChange } from '../../ports/ledger.ts';
import type { RunOrders } from '../../ports/run-orders.ts';
import type {
  CarriedRun,
  FoundRun,
  RunOptions,
  RunService,
  RunStarted,
  RunStats,
  RunWish,
} from '../../ports/run-service.ts';
import type { EtlClient, ItemUpdate } from '../etl/etl-client.ts';
import { EtlRefused } from '../etl/etl-request.ts';
import { RunManager } from '../run-manager.ts';
import type { CreateScrapeRunResponse, ItemStats } from '../types.ts';
import { chooseScraper } from './choose-scraper.ts';
import { groupedItems, sortItems } from './run-items.ts';
import { RunReporter } from './run-reporter.ts';
import { TakeTurns } from './take-turns.ts';

export interface OrchestratorDeps {
  readonly etl: EtlClient;
  readonly orders: RunOrders;
  readonly ledger: Ledger;
  readonly catalog: Pick<ScraperCatalog, 'find' | 'list'>;
  readonly clock: Clock;
  readonly digest: Digest;
  readonly faults: Faults;
  readonly prices: Prices;
  readonly recordings: KeepDeps['recordings'];
  /** Whether this process is the one that works on orders. */
  readonly mayWork: () => boolean;
  /** Something is to be reported, or an order can go on. */
  readonly onNews: (what: 'report' | 'step') => void;
  readonly log: {
    info(fields: object, message: string): void;
    warn(fields: object, message: string): void;
  };
}

/**
 * Carries out scrape runs. An order says what is to be done, the run in the ETL API what is pending, and the job in the
 * ledger what has become of it: all three survive this process, and whatever it does can be done again. `nextRunStep` says
 * what is next. What it knows itself is only which items ended since the last report, and if that is lost, everything is
 * compared.
 */
export class RunOrchestrator implements RunService {
  readonly #deps: OrchestratorDeps;
  readonly #manager: RunManager;
  /** By id of the job. */
  readonly #reporters = new Map<string, RunReporter>();
  /** Of one run, one thing is done at a time. */
  readonly #turns = new TakeTurns();
  readonly #unsubscribe: () => void;

  constructor(deps: OrchestratorDeps) {
    this.#deps = deps;
    this.#manager = new RunManager(deps.etl, deps.clock);
    this.#unsubscribe = deps.ledger.subscribe((change) => this.#heard(change));
  }

  /** Nothing is heard any more. */
  close(): void {
    this.#unsubscribe();
  }

  start(wish: RunWish): Promise<RunStarted> {
    const { domain, urls } = wish;
    return this.#reserved(domain, async (id) => {
      const chosen = await this.#chosen(wish, domain);
      if ('problem' in chosen) return chosen.problem;
      const active = await this.#manager.getActiveRun(domain);
      if (active === null && urls.length === 0) return { kind: 'no-run' };
      const run = active ?? (await this.#manager.createRun(domain, urls));
      return await this.#begin({ id, domain, again: [], ...chosen.fields }, run, active === null);
    });
  }

  async retry(runId: string, again: readonly RunRetry[], options: RunOptions): Promise<RunStarted> {
    const run = await this.#fetched(runId);
    if (run === null) return { kind: 'no-run' };
    return this.#reserved(run.domain, async (id) => {
      const chosen = await this.#chosen(options, run.domain);
      if ('problem' in chosen) return chosen.problem;
      return await this.#begin({ id, domain: run.domain, again, ...chosen.fields }, run, false);
    });
  }

  async list(): Promise<readonly CarriedRun[]> {
    return await Promise.all((await this.#deps.orders.list()).map((order) => this.#carried(order)));
  }

  async find(runId: string): Promise<FoundRun | null> {
    await this.#reportAllOf(runId);
    const run = await this.#fetched(runId);
    if (run === null) return null;
    const order = await this.#orderOf(runId);
    const jobIds: string[] = [];
    for (let round = 1; ; round += 1) {
      const job = await this.#deps.ledger.job(this.#jobId({ runId, round }));
      if (job === null) break;
      jobIds.push(job.jobId);
    }
    const { total, completed, failed, pending } = await this.#manager.getRunStats(runId);
    return {
      ...{ runId, domain: run.domain, status: run.status ?? null, startTime: run.startTime, endTime: run.endTime },
      items: { total, completed, failed, pending },
      carried: order && (await this.#carried(order)),
      jobIds,
    };
  }

  async finalize(runId: string): Promise<RunStats | 'busy' | null> {
    if ((await this.#orderOf(runId)) !== null) return 'busy';
    if ((await this.#fetched(runId)) === null) return null;
    const { total, completed, failed, pending } = await this.#manager.finalizeRun(runId);
    return { total, completed, failed, pending };
  }

  /** Goes on with every order. Returns how many there are. One that fails does not keep the others from going on. */
  async runOnce(): Promise<{ readonly orders: number }> {
    if (!this.#deps.mayWork()) {
      // Another process reports now. What is heard meanwhile would be reported late, or twice.
      this.#reporters.clear();
      return { orders: 0 };
    }
    const orders = await this.#deps.orders.list();
    await Promise.all(orders.map((order) => this.#guarded(order, () => this.#step(order))));
    return { orders: orders.length };
  }

  /** Reports what has ended since the last time. */
  async reportOnce(): Promise<void> {
    if (!this.#deps.mayWork()) return;
    const due = [...this.#reporters.values()].filter(({ hasDue }) => hasDue);
    await Promise.all(due.map((reporter) => this.#guarded(reporter.order, () => reporter.report())));
  }

  /** What has ended here is in the run when it is read, even if a report is under way just then. */
  async #reportAllOf(runId: string): Promise<void> {
    const own = [...this.#reporters.values()].filter(({ order }) => order.runId === runId);
    if (own.length === 0 || !this.#deps.mayWork()) return;
    await Promise.all(
      own.map((reporter) =>
        this.#guarded(reporter.order, async () => {
          if (reporter.hasDue) await reporter.report();
        }),
      ),
    );
  }

  #heard(change: LedgerChange): void {
    if (change.kind === 'settled') {
      const reporter = this.#reporters.get(change.jobId);
      if (reporter === undefined) return;
      reporter.heard(change.items);
      this.#deps.onNews('report');
    } else if (change.kind === 'job') {
      if (this.#reporters.has(change.job.jobId)) this.#deps.onNews('step');
      else if (change.because === 'retry') this.#takeUp(change.job);
    }
  }

  /** A user has retried items of a job whose run was finalized: they are reported like those of any round. */
  #takeUp(job: JobRecord): void {
    const run = runOfJob(job);
    if (run === null || !this.#deps.mayWork() || this.#jobId(run) !== job.jobId) return;
    const again = async () => {
      const { orders, clock, catalog } = this.#deps;
      const chosen = await chooseScraper(catalog, job.scraperId, run.domain);
      if ('problem' in chosen) throw new Error(chosen.problem);
      const id = clock.id();
      // A run of the domain that is being carried out goes first: this one is taken up with the next retry.
      if ((await orders.reserve(run.domain, id, clock.now())).kind !== 'reserved') return;
      await orders.begin({
        ...{ ...run, id, isFilled: true, again: RETRIED, scraperId: job.scraperId, field: chosen.field },
        ...{ policy: job.policy, sessions: job.policy.throttling.max_concurrent_workers, startedAt: clock.now() },
        ...{ strategy: DEFAULT_STRATEGY, maxItemsPerSession: DEFAULT_ITEMS_PER_SESSION },
      });
      this.#deps.onNews('step');
    };
    again().catch((error: unknown) => {
      this.#deps.log.warn({ run_id: run.runId, reason: String(error) }, 'retried items of a run cannot be reported');
    });
  }

  async #guarded(order: RunOrder, work: () => Promise<unknown>): Promise<void> {
    try {
      await this.#turns.take(order.domain, work);
    } catch (error) {
      const { runId: run_id, domain } = order;
      if (isGone(error)) {
        this.#deps.log.warn({ run_id, domain }, 'the ETL API no longer has this run: it is not carried out any more');
        await this.#end(order);
      } else {
        this.#deps.log.warn({ run_id, domain, reason: String(error) }, 'a run cannot go on; it is tried again');
      }
    }
  }

  async #reserved(domain: string, work: (id: string) => Promise<RunStarted>): Promise<RunStarted> {
    const { orders, clock } = this.#deps;
    const id = clock.id();
    const reservation = await orders.reserve(domain, id, clock.now());
    if (reservation.kind === 'carried') return { kind: 'busy', ...(await this.#carried(reservation.order)) };
    if (reservation.kind === 'starting') return reservation;
    try {
      return await work(id);
    } finally {
      await orders.release(domain, id);
    }
  }

  async #chosen(
    { scraperId, sessions, strategy, maxItemsPerSession, policy }: RunOptions,
    domain: string,
  ): Promise<{ readonly problem: RunStarted } | { readonly fields: ChosenFields }> {
    const chosen = await chooseScraper(this.#deps.catalog, scraperId, domain);
    if ('problem' in chosen) return { problem: { kind: 'bad', path: 'scraper_id', problem: chosen.problem } };
    const { scraper, field } = chosen;
    return { fields: { scraperId: scraper.id, field, sessions, strategy, maxItemsPerSession, policy } };
  }

  async #begin(
    wanted: Omit<RunOrder, 'runId' | 'round' | 'isFilled' | 'startedAt'>,
    run: CreateScrapeRunResponse,
    isNew: boolean,
  ): Promise<RunStarted> {
    const { orders, clock, faults, onNews } = this.#deps;
    const round = await this.#nextRound(run._id);
    const order = { ...wanted, runId: run._id, round, isFilled: false, startedAt: clock.now() };
    if (!(await orders.begin(order))) throw new Error(`the reservation of ${order.domain} was lost`);
    await faults.at('after-run-order-before-job');
    await this.#turns.take(order.domain, () => this.#fill(order));
    onNews('step');
    const carried = await this.#orderOf(run._id);
    if (carried === null) return { kind: 'nothing-pending', runId: run._id, domain: order.domain };
    return { kind: 'started', isNew, ...(await this.#carried(carried)) };
  }

  /** The first round that has no job. */
  async #nextRound(runId: string): Promise<number> {
    for (let round = 1; ; round += 1) {
      if ((await this.#deps.ledger.job(this.#jobId({ runId, round }))) === null) return round;
    }
  }

  async #step(order: RunOrder): Promise<void> {
    const jobId = this.#jobId(order);
    const job = await this.#deps.ledger.job(jobId);
    switch (nextRunStep(order, job)) {
      case 'fill':
        return await this.#fill(order);
      case 'follow': {
        const reporter = this.#reporterOf(order, jobId, true);
        if (reporter.hasDue) await reporter.report();
        return;
      }
      case 'close':
        return await this.#closeRound(order, jobId);
      case 'leave':
        if (job !== null) await this.#reporterOf(order, jobId, true).compare();
        this.#deps.log.info(
          { run_id: order.runId, job_id: jobId },
          'the job was cancelled or deleted: the run stays open',
        );
        await this.#end(order);
    }
  }

  /** Creates the job of the round. If nothing is pending, the run is over. */
  async #fill(order: RunOrder): Promise<void> {
    const { orders, log, clock, digest } = this.#deps;
    const { runId } = order;
    // Not from memory: what another program has done since must not be scraped again.
    await this.#manager.getRun(runId);
    const found = await this.#manager.getPendingItems(runId, { again: order.again });
    this.#manager.forget(runId);
    const { usable, unusable } = sortItems(found);
    const updates = unusable.map(
      ({ url, reason }): ItemUpdate => ({ url, changes: { invalid: true, failedReason: reason } }),
    );
    await this.#manager.updateItemStatuses(runId, updates);
    if (usable.length === 0) return await this.#finish(order);
    const scraper = await this.#deps.catalog.find(order.scraperId);
    if (scraper === null) throw new Error(`there is no scraper ${order.scraperId} any more`);
    const job = this.#newJob(order, scraper);
    // Before there is a job, so that it hears of the first item: that may end before the job is all there.
    const reporter = this.#reporterOf({ ...order, isFilled: true }, job.jobId, false);
    const answer = await createWithRecording(this.#deps, job, { scraper, origin: 'stored' }, (made) =>
      createInChunks(this.#deps, made, usable.length, groupedItems(usable, order, digest)),
    );
    if (answer.kind === 'duplicates') throw new Error(`two items of run ${runId} have the same id`);
    if (answer.kind === 'exists') reporter.fallBehind();
    await orders.change(order, { ...order, isFilled: true });
    const about = { run_id: runId, domain: order.domain, job_id: job.jobId, items: usable.length };
    log.info({ ...about, took_ms: clock.now() - order.startedAt }, 'a run is carried out');
  }

  #newJob(order: RunOrder, scraper: CatalogScraper): NewJob {
    const { prices } = this.#deps;
    return {
      jobId: this.#jobId(order),
      name: `${order.domain}, run ${order.runId}`.slice(0, 500),
      ...{ scraperId: scraper.id, scraperVersion: scraper.version, lane: scraper.lane },
      ...{ policy: order.policy, labels: runLabels(order), held: false },
      batching: { by: 'group', maxItems: MAX_BATCH_ITEMS },
      ...(Object.keys(prices).length === 0 ? {} : { prices }),
    };
  }

  async #closeRound(order: RunOrder, jobId: string): Promise<void> {
    const reporter = this.#reporterOf(order, jobId, true);
    let compared = await reporter.compare();
    // What was reported just now must be in the run before it is finalized, and in its counts.
    if (compared.sent > 0) compared = await reporter.compare();
    const { others, sent, pending, stats } = compared;
    if (others === 0) {
      if (sent > 0 && pending > 0)
        throw new Error(`${pending} items are pending in the run although they were reported`);
      return await this.#finish(order, stats);
    }
    const next = { ...order, round: order.round + 1, isFilled: false, again: [] };
    this.#reporters.delete(jobId);
    if (await this.#deps.orders.change(order, next)) await this.#fill(next);
  }

  /** `stats` if the run was just read. */
  async #finish(order: RunOrder, stats?: ItemStats): Promise<void> {
    await this.#manager.finalizeRun(order.runId, stats);
    await this.#deps.faults.at('after-run-finalized');
    await this.#end(order);
    this.#deps.log.info({ run_id: order.runId, domain: order.domain }, 'a run is finalized');
  }

  async #end(order: RunOrder): Promise<void> {
    this.#reporters.delete(this.#jobId(order));
    await this.#deps.orders.end(order);
  }

  #reporterOf(order: RunOrder, jobId: string, isBehind: boolean): RunReporter {
    const known = this.#reporters.get(jobId);
    if (known !== undefined) return known;
    const { ledger, faults, log } = this.#deps;
    const reporter = new RunReporter({ ledger, faults, log, manager: this.#manager }, order, jobId, { isBehind });
    this.#reporters.set(jobId, reporter);
    return reporter;
  }

  async #orderOf(runId: string): Promise<RunOrder | null> {
    return (await this.#deps.orders.list()).find((order) => order.runId === runId) ?? null;
  }

  async #carried(order: RunOrder): Promise<CarriedRun> {
    const jobId = this.#jobId(order);
    const job: JobRecord | null = await this.#deps.ledger.job(jobId);
    return { order, jobId, job };
  }

  async #fetched(runId: string): Promise<CreateScrapeRunResponse | null> {
    try {
      return await this.#manager.getRun(runId);
    } catch (error) {
      if (isGone(error)) return null;
      throw error;
    }
  }

  #jobId(order: Pick<RunOrder, 'runId' | 'round'>): string {
    return runJobId(order, this.#deps.digest);
  }
}

type ChosenFields = Pick<RunOrder, 'scraperId' | 'field' | 'sessions' | 'strategy' | 'maxItemsPerSession' | 'policy'>;

const RETRIED: readonly RunRetry[] = ['failed', 'invalid'];

function isGone(error: unknown): boolean {
  return error instanceof EtlRefused && error.status === 404;
}
