import { hash } from 'node:crypto';
import type { NewJobRequest } from '../../src/contract/new-job.ts';
import { importItems } from '../../src/controller/intake/intake.ts';
import type { CatalogScraper } from '../../src/controller/intake/scraper-catalog.ts';
import { type SubmitAnswer, submitJob } from '../../src/controller/jobs/submit.ts';
import { submitJobStream } from '../../src/controller/jobs/submit-stream.ts';
import type { NewItem } from '../../src/domain/item.ts';
import { isRefusal, type JobEvent, type JobRecord } from '../../src/domain/job.ts';
import { DEFAULT_POLICY, type Policy, policySchema } from '../../src/domain/policy.ts';
import { NO_PRICES } from '../../src/domain/prices.ts';
import { NO_FAULTS } from '../../src/ports/faults.ts';
import type { Ledger, RetryFilter } from '../../src/ports/ledger.ts';
import { openMemoryRecordings } from '../support/memory/recordings.ts';
import { judgeError } from './actors.ts';
import { correctedItems } from './correcting-user.ts';
import { Dice } from './dice.ts';
import { DrawnGroups } from './drawn-groups.ts';
import { ExtractingUser } from './extracting-user.ts';
import type { FaultKind } from './fault-plan.ts';
import { piecesOf } from './large-request.ts';
import { ledgerFor } from './ledger-port.ts';
import { RemovingUsers } from './removing-users.ts';
import type { Sim } from './sim.ts';
import type { SimProcess } from './sim-process.ts';

const ACTS = [
  'user-pause',
  'user-resume',
  'user-cancel',
  'user-retry',
  'user-policy',
  'user-items',
  'user-import-dies',
  'user-create-dies',
  'user-removes-job',
  'user-removes-twice',
  'user-replaces-results',
  'user-extracts',
  'user-corrects',
] as const satisfies readonly FaultKind[];

/** A run of some minutes has a few dozen. See `#createLarge`. */
const MOST_LARGE = 100;

/** A user of the engine: submits jobs, and interferes with them at any time. A call without an answer is repeated. */
export class User {
  readonly #process: SimProcess;
  readonly #sim: Sim;
  readonly #dice: Dice;
  /** Dice of their own, so that the rest of what a seed does stays the same. */
  readonly #budgets: Dice;
  readonly #ledger: Ledger;
  readonly #extracting: ExtractingUser;
  readonly #groups: DrawnGroups;
  #added = 0;
  #unsubmitted = 0;
  #large = 0;
  readonly #takenUpAgain = new Set<string>();
  readonly #removing: RemovingUsers;

  constructor(process: SimProcess, sim: Sim, dice: Dice) {
    this.#process = process;
    this.#sim = sim;
    this.#dice = dice;
    this.#budgets = new Dice(sim.seed, 'budgets');
    this.#ledger = ledgerFor(process, sim);
    this.#groups = new DrawnGroups(sim.seed);
    this.#removing = new RemovingUsers({
      ...{ process, dice, ledger: this.#ledger },
      submit: (jobId, itemIds) => this.#submitOnce(this.#request(jobId, dice.int(1, 8), itemIds)),
      untilAnswered: (ask) => this.#untilAnswered(ask),
    });
    this.#extracting = new ExtractingUser(this.#ledger, process.clock, dice, SCRAPER, (ask) =>
      this.#untilAnswered(ask),
    );
  }

  /** Submits the jobs of this world over the first seconds. */
  submit(jobs: number, largest: number): void {
    for (let number = 1; number <= jobs; number += 1) {
      const request = this.#request(`job-${number}`, this.#dice.int(number === 1 ? 1 : 0, largest));
      const isHeld = request.hold ?? false;
      this.#unsubmitted += 1;
      this.#process.later(number === 1 ? 0 : this.#dice.between(0, 5000), () => {
        void this.#untilAnswered(() => this.#submitOnce(request)).then(() => {
          this.#unsubmitted -= 1;
        });
        if (isHeld)
          this.#process.later(this.#dice.between(100, 4000), () => this.#change(`job-${number}`, { kind: 'start' }));
      });
    }
  }

  /** Submits one job, as it is, at this time; `then` is called when it is there. */
  submitOne(request: NewJobRequest, afterMs: number, then: () => void): void {
    this.#unsubmitted += 1;
    this.#process.later(afterMs, () => {
      void this.#untilAnswered(() => this.#submitOnce(request)).then(() => {
        this.#unsubmitted -= 1;
        then();
      });
    });
  }

  get hasSubmittedAll(): boolean {
    return this.#unsubmitted === 0;
  }

  /** Does something at the same time as the engine, now and then. */
  meddle(jobId: string): void {
    for (const act of ACTS) {
      if (!this.#sim.faults.isOn(act) || !this.#dice.happens(0.15)) continue;
      this.#process.later(this.#dice.pick([0, 0, 1, 20, 60]), () => {
        this.#sim.faults.count(act);
        this.#act(act, jobId);
      });
    }
  }

  /** Interferes at random times until faults end. */
  interfere(): void {
    for (const act of ACTS) {
      if (!this.#sim.faults.isOn(act)) continue;
      const again = () => {
        if (this.#sim.faults.isOff) return;
        const { jobIds } = this.#sim.oracle;
        if (jobIds.length > 0) {
          this.#sim.faults.count(act);
          this.#act(act, this.#dice.pick(jobIds));
        }
        this.#process.later(this.#dice.between(500, 12_000), again);
      };
      this.#process.later(this.#dice.between(10, 8000), again);
    }
  }

  /** When nothing goes wrong any more, goes on with what waits for a user, and only with that. */
  goOn(job: JobRecord): void {
    if (job.status === 'pending' && job.held) this.#change(job.jobId, { kind: 'start' });
    const { budget } = job.policy;
    if (job.reason !== null && (budget.max_requests !== null || budget.max_bytes !== null)) {
      this.#change(job.jobId, { kind: 'policy', policy: { ...job.policy, budget: DEFAULT_POLICY.budget } });
    }
    if (job.status === 'failed') this.#change(job.jobId, { kind: 'resume' });
    // A bad control may have been reported when the job was already stopped for another reason.
    if (job.controls?.suspect) this.#sim.sites.repair(job.jobId);
    const waitsForUser =
      job.reason?.code === 'user' ||
      job.reason?.code === 'control' ||
      job.reason?.code === 'budget' ||
      (job.reason?.code === 'breaker' && job.circuit.state === 'open' && job.circuit.probeAt === null);
    if (job.status === 'paused' && waitsForUser) this.#change(job.jobId, { kind: 'resume' });
    // A job without items cannot be completed: it is unknown whether any will come.
    if (job.counts.total === 0 && job.status !== 'cancelled') this.#change(job.jobId, { kind: 'cancel' });
  }

  /** Some users take up a job that is over once more: they retry what failed, read its pages again, or add items. */
  wantsMore({ jobId, status, counts }: JobRecord): boolean {
    if (status !== 'completed' || this.#takenUpAgain.has(jobId)) return false;
    this.#takenUpAgain.add(jobId);
    if (counts.failed > 0 && this.#dice.happens(0.2)) {
      this.#extract(jobId);
      return true;
    }
    if (!this.#dice.happens(0.3)) return false;
    const items = counts.failed === 0 || this.#dice.happens(0.3) ? this.#newItems(this.#dice.int(1, 4)) : null;
    void this.#untilAnswered(() => (items === null ? this.#retry(jobId) : this.#import(jobId, items, false)));
    return true;
  }

  #act(act: (typeof ACTS)[number], jobId: string): void {
    switch (act) {
      case 'user-pause':
        this.#change(jobId, { kind: 'pause', reason: { code: 'user', message: 'paused', evidence: [] } });
        return;
      case 'user-resume':
        this.#change(jobId, { kind: 'resume' });
        return;
      case 'user-cancel':
        if (this.#dice.happens(0.3)) this.#change(jobId, { kind: 'cancel' });
        return;
      case 'user-policy':
        this.#change(jobId, { kind: 'policy', policy: this.#policy() });
        return;
      case 'user-retry':
        void this.#untilAnswered(() => this.#retry(jobId));
        return;
      case 'user-items':
        void this.#untilAnswered(() => this.#import(jobId, this.#newItems(this.#dice.int(1, 8)), false));
        return;
      case 'user-import-dies':
        void this.#untilAnswered(() => this.#import(jobId, this.#newItems(this.#dice.int(2, 8)), true));
        return;
      case 'user-corrects':
        void this.#untilAnswered(() => this.#correct(jobId, this.#dice.happens(0.2)));
        return;
      case 'user-extracts':
        this.#extract(jobId);
        return;
      case 'user-create-dies':
        this.#createLarge(this.#dice.happens(0.5));
        return;
      case 'user-replaces-results':
        if (this.#dice.happens(0.5)) {
          void this.#extracting.replaceAgain();
          return;
        }
        // Replace by jobs that have none of its items, or are gone: the index stays the same, and is written again.
        this.#change(jobId, {
          kind: 'replace-results',
          by: this.#dice.pick([jobId === 'job-1' ? 'job-2' : 'job-1', 'nobody']),
        });
        return;
      case 'user-removes-job':
        // A user who is still asking for the job to be created would create it again.
        if (this.hasSubmittedAll && this.#sim.oracle.jobIds.length > 1 && this.#dice.happens(0.3))
          void this.#removing.once(jobId);
        return;
      case 'user-removes-twice':
        if (this.hasSubmittedAll && this.#dice.happens(0.5)) this.#whileSubmitting(() => this.#removing.twice(jobId));
    }
  }

  /** Counts as a submission: a job that is asked for must not be removed, and created again, meanwhile. */
  #extract(jobId: string): void {
    this.#unsubmitted += 1;
    void this.#extracting.extractAndReplace(jobId).then(() => {
      this.#unsubmitted -= 1;
    });
  }

  #change(jobId: string, event: JobEvent): void {
    void this.#untilAnswered(() => this.#ledger.changeJob(jobId, event, this.#process.clock.now()));
  }

  /** The run does not end before this. */
  #whileSubmitting(work: () => Promise<void>): void {
    this.#unsubmitted += 1;
    void work().then(() => {
      this.#unsubmitted -= 1;
    });
  }

  #submitParts() {
    const { clock } = this.#process;
    const catalog = { find: async () => SCRAPER, list: async () => [], ofRecording: async () => SCRAPER };
    const { recordings } = openMemoryRecordings();
    const shared = { ledger: this.#ledger, recordings, faults: NO_FAULTS, clock };
    return { ...shared, catalog, digest, defaultScraper: SCRAPER.id, prices: NO_PRICES };
  }

  async #submitOnce(request: NewJobRequest): Promise<SubmitAnswer> {
    const answer = await submitJob(this.#submitParts(), request, null);
    if (answer.kind === 'bad') this.#sim.oracle.fail(`submit was refused: ${JSON.stringify(answer.problems)}`);
    return answer;
  }

  /** A job whose items come one by one, and are written a few at a time; half of the senders die before the last. */
  #createLarge(dies: boolean): void {
    // Each job makes the engine decide more often, and users meddle at its decisions: without an end, that grows and grows.
    if (this.#large === MOST_LARGE) return;
    this.#large += 1;
    const jobId = `large-${this.#large}`;
    const request = this.#request(jobId, this.#dice.int(0, 12));
    this.#sim.oracle.unborn(jobId);
    if (!dies) this.#unsubmitted += 1;
    void this.#untilAnswered(() => this.#createOnce(request, dies)).then(() => {
      this.#unsubmitted -= 1;
    });
  }

  async #createOnce(request: NewJobRequest, dies: boolean): Promise<void> {
    const { clock } = this.#process;
    const parts = this.#submitParts();
    const pause = () => clock.sleep(this.#dice.pick([0, 1, 50, 400]));
    const { signal } = new AbortController();
    const options = { idempotencyKey: null, signal, inlineBytes: 0, itemsPerChunk: this.#dice.int(1, 4) };
    const answer = await submitJobStream(parts, piecesOf(request, this.#dice, pause, dies), options);
    if (answer.kind !== 'created' && answer.kind !== 'exists') {
      this.#sim.oracle.fail(`a large job was not made: ${JSON.stringify(answer)}`);
    }
  }

  async #retry(jobId: string): Promise<void> {
    const { clock } = this.#process;
    const filter: RetryFilter = {
      errorType: this.#dice.happens(0.2) ? 'timeout' : null,
      itemIds: this.#dice.happens(0.2) ? ['item-1', 'item-2', 'item-2', 'item-9'] : null,
      groupKeys: await this.#chooseGroup(jobId),
      preview: this.#dice.happens(0.1),
    };
    const limit = this.#dice.pick([1, 3, 100]);
    let after: string | null = null;
    do {
      const answer = await this.#ledger.reopen(jobId, filter, { after, limit }, clock.now() + 5000, clock.now());
      if (isRefusal(answer as never) || !('kind' in answer) || answer.kind !== 'reopened') return;
      after = answer.next;
    } while (after !== null);
    await this.#ledger.addItems(jobId, [], clock.now(), clock.now());
  }

  /** One of the groups that the job has at this moment, or none. */
  async #chooseGroup(jobId: string): Promise<readonly string[] | null> {
    if (!this.#dice.happens(0.3)) return null;
    const groups = await this.#ledger.failureGroups(jobId, 10);
    return groups.length === 0 ? null : this.#dice.pick(groups).keys;
  }

  async #correct(jobId: string, dies: boolean): Promise<void> {
    const items = await correctedItems(this.#ledger, jobId, this.#dice, this.#groups);
    if (items.length > 0) await this.#import(jobId, items, dies);
  }

  /** Sends items in chunks; a sender may die between two of them. */
  async #import(jobId: string, items: readonly NewItem[], dies: boolean): Promise<void> {
    const middle = Math.ceil(items.length / 2);
    const faults = dies ? { at: () => new Promise<void>(() => {}) } : NO_FAULTS;
    const parts = { ledger: this.#ledger, clock: this.#process.clock, faults };
    await importItems(parts, jobId, [items.slice(0, middle), items.slice(middle)]);
  }

  /** A user who gets an error tries again, for as long as it takes. */
  async #untilAnswered<T>(ask: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await ask();
      } catch (error) {
        judgeError(this.#sim, this.#process, 'an answer', error);
        await this.#process.clock.sleep(this.#dice.between(100, 1500));
      }
    }
  }

  #request(jobId: string, items: number, itemIds: readonly string[] = []): NewJobRequest {
    const made =
      itemIds.length > 0 ? itemIds.map((itemId) => ({ itemId, input: { again: true } })) : this.#newItems(items);
    const batching = this.#groups.batching();
    if (batching.batching !== undefined) this.#sim.faults.count('job batched by group');
    return {
      job_id: jobId,
      scraper_id: SCRAPER.id,
      items: made.map(({ itemId, input, ...group }) => ({ item_id: itemId, input, ...group })),
      ...batching,
      execution_policy: this.#policy(),
      hold: this.#dice.happens(0.1),
    };
  }

  #newItems(count: number): NewItem[] {
    return Array.from({ length: count }, () => {
      this.#added += 1;
      return { itemId: `item-${this.#added}`, input: { number: this.#added }, ...this.#groups.next() };
    });
  }

  #policy(): Policy {
    const dice = this.#dice;
    const budgets = this.#budgets;
    return policySchema.parse({
      throttling: {
        max_concurrent_workers: dice.int(1, 6),
        min_delay_between_items_seconds: dice.happens(0.1) ? dice.between(0.05, 0.5) : 0,
        max_requests_per_second: dice.happens(0.1) ? dice.between(3, 60) : null,
        adaptive: dice.happens(0.5),
      },
      retries: { max_retries: dice.pick([0, 0, 1, 2]), backoff_factor: 0.2, max_backoff_seconds: 3 },
      timeouts: { item_timeout_seconds: dice.pick([2, 5, 9]) },
      circuit_breaker: {
        min_requests: dice.pick([1, 2, 5, 10, 50]),
        failure_threshold_percentage: dice.pick([0.25, 0.5, 1]),
        consecutive_failures: dice.pick([2, 5, 20, null]),
        on_trip: dice.pick(['fail', 'pause']),
        cooldown_seconds: dice.happens(0.3) ? dice.between(1, 6) : null,
      },
      ...(this.#sim.sites.isOn ? { controls: { items: CONTROLS, every: dice.pick([1, 3, 8, 500]) } } : {}),
      ...this.#sim.links.policy(),
      budget: {
        max_requests: budgets.happens(0.2) ? budgets.int(1, 60) : null,
        max_bytes: budgets.happens(0.1) ? budgets.int(1, 40_000) : null,
      },
    });
  }
}

/** Known to exist, as long as the site remembers. */
const CONTROLS = [{ input: { known: 1 } }, { input: { known: 2 } }];

const digest = (text: string) => hash('sha256', text);

const SCRAPER: CatalogScraper = {
  id: 'scripted',
  name: 'Scripted',
  version: '1.0.0',
  description: '',
  kind: 'plain',
  source: 'file',
  recording: null,
  hosts: [],
  lane: 'http',
  input: {},
  output: null,
  canExtract: true,
  problemsOf: () => [],
};
