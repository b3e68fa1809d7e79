import type { ResetReason } from '../../contract/events.ts';
import { endedOf } from '../../domain/counts.ts';
import type { JobWait } from '../../domain/item-wait.ts';
import type { JobRecord } from '../../domain/job.ts';
import type { JobPace } from '../../domain/job-pace.ts';
import type { JobStatus } from '../../domain/job-steps.ts';
import type { ItemWaits } from '../../ports/item-waits.ts';
import type { JobBook, LedgerChange } from '../../ports/ledger.ts';
import type { StepRecords } from '../../ports/step-records.ts';
import { driftWarnings } from '../jobs/present-steps.ts';
import { Feed, type FeedDeps, type FeedSettings, type FeedState } from './feed.ts';
import {
  endEvent,
  type FeedEvent,
  goneEvent,
  isOver,
  itemsEvent,
  progressEvent,
  resetEvent,
  statusEvent,
  warningsEvent,
} from './feed-event.ts';
import { OutcomeBatch } from './outcome-batch.ts';
import type { RateBook } from './rate-book.ts';

/** What happens to one job. A change of its status is urgent. */
export class JobFeed extends Feed {
  readonly jobId: string;
  readonly #deps: JobFeedDeps;
  readonly #outcomes: OutcomeBatch;
  #sent: SentState | null = null;
  /** Since when the job has been over while its end is held back for outcomes that have not arrived; by `elapsed()`. */
  #heldSince: number | null = null;
  /** By `elapsed()`; null before the first time. */
  #stepsReadAt: number | null = null;

  constructor(deps: JobFeedDeps) {
    super(deps);
    this.#deps = deps;
    this.jobId = deps.jobId;
    this.#outcomes = new OutcomeBatch(deps.settings.maxOutcomes);
  }

  hear(change: Exclude<LedgerChange, { kind: 'fenced' }>): void {
    if (change.kind === 'settled') this.#outcomes.add(change.items);
    this.notice({ isUrgent: this.#isUrgent(change) });
  }

  /** The job was deleted, or its manifest was written: worth a look at once. */
  hurry(): void {
    this.notice({ isUrgent: true });
  }

  #isUrgent(change: Exclude<LedgerChange, { kind: 'fenced' }>): boolean {
    switch (change.kind) {
      case 'settled':
        return this.#heldSince !== null;
      case 'job':
        return this.#sent !== null && isNewTo(this.#sent, change.job);
      // The first batch starts the job. A first look may be under way, and may have read the earlier state.
      case 'dispatched':
        return this.#sent === null || this.#sent.jobStatus === 'pending';
      default:
        return false;
    }
  }

  protected override state(): FeedState | null {
    if (this.#sent === null) return null;
    const { status, progress, warnings, end } = this.#sent;
    const warned = warnings.about === '' ? [] : [warnings.event];
    return { events: [status, progress, ...warned, ...(end === null ? [] : [end])], isLast: end !== null };
  }

  protected override resetEvent(reason: ResetReason): FeedEvent {
    return resetEvent(this.jobId, reason);
  }

  protected override longestWaitMs(): number {
    return this.#holdMs();
  }

  protected override async lookOnce(): Promise<void> {
    const { ledger, rates, itemWaits, clock } = this.#deps;
    const job = await ledger.job(this.jobId);
    const sent = this.#sent;
    // Another job with the same id is not the one that was watched.
    if (job === null || (sent !== null && sent.incarnation !== job.incarnation)) {
      if (sent !== null) this.send([goneEvent(this.jobId)], true);
      this.stop();
      return;
    }
    const at = clock.now();
    const now = tell(job, itemWaits.ofJob(this.jobId, at), rates.pace(this.jobId), at, await this.#readWarnings(job));
    const ended = endedOf(job.counts);
    // The first look is what the first watcher begins with.
    if (sent === null) {
      this.#sent = now;
      this.#outcomes.restart(ended);
      return;
    }
    const isEnd = now.end !== null && now.end.data !== sent.end?.data;
    const unheard = this.#outcomes.countUnheard(ended);
    if (isEnd && unheard > 0 && this.#mayHold()) return;
    this.#heldSince = null;
    if (isEnd) this.#outcomes.writeOffUnheard();
    this.#sent = now;
    const batch = this.#outcomes.take();
    const events: FeedEvent[] = [];
    if (batch !== null) events.push(itemsEvent(this.jobId, batch.shown, batch.omitted));
    if (now.progress.data !== sent.progress.data) events.push(now.progress);
    if (now.key !== sent.key) events.push(now.status);
    if (now.warnings.about !== sent.warnings.about) events.push(now.warnings.event);
    if (now.end !== null && isEnd) events.push(now.end);
    if (events.length > 0) this.send(events, isEnd);
  }

  /** Not at every look: workers report only every few seconds. The end is worth one, however soon it comes. */
  async #readWarnings(job: JobRecord): Promise<Warnings> {
    const { stepRecords, clock, settings } = this.#deps;
    const isDue = this.#stepsReadAt === null || clock.elapsed() - this.#stepsReadAt >= settings.stepsMs;
    const known = this.#sent?.warnings ?? null;
    if (known !== null && !isDue && (!isOver(job) || this.#sent?.end != null)) return known;
    this.#stepsReadAt = clock.elapsed();
    const warnings = driftWarnings(await stepRecords.ofJob(job));
    return { about: warnings.map(({ path }) => path).join(' '), event: warningsEvent(this.jobId, warnings) };
  }

  /** Streams close with the end, so it waits for outcomes still on their way from another machine. */
  #mayHold(): boolean {
    this.#heldSince ??= this.#deps.clock.elapsed();
    return this.#holdMs() > 0;
  }

  /** How much longer the end is held back; Infinity if it is not. */
  #holdMs(): number {
    const { clock, settings } = this.#deps;
    if (this.#heldSince === null) return Number.POSITIVE_INFINITY;
    return Math.max(0, this.#heldSince + settings.lateOutcomesMs - clock.elapsed());
  }
}

interface JobFeedDeps extends FeedDeps {
  readonly jobId: string;
  readonly ledger: Pick<JobBook, 'job'>;
  readonly rates: Pick<RateBook, 'pace'>;
  readonly itemWaits: Pick<ItemWaits, 'ofJob'>;
  readonly stepRecords: Pick<StepRecords, 'ofJob'>;
  readonly settings: JobFeedSettings;
}

export interface JobFeedSettings extends FeedSettings {
  /** Time between two looks at what was seen of the steps of a recording. */
  readonly stepsMs: number;
  /** How long the end of a job waits for outcomes that its counters include but that have not been heard of. */
  readonly lateOutcomesMs: number;
  /** Maximum number in one `items` event. */
  readonly maxOutcomes: number;
}

/** What a watcher that received everything knows. */
interface SentState {
  readonly incarnation: string;
  readonly jobStatus: JobStatus;
  readonly hasManifest: boolean;
  /** What makes a `status` event new: its summary changes all the time. */
  readonly key: string;
  readonly status: FeedEvent;
  readonly progress: FeedEvent;
  readonly warnings: Warnings;
  readonly end: FeedEvent | null;
}

interface Warnings {
  /** What makes the event new: numbers in its messages change all the time. */
  readonly about: string;
  readonly event: FeedEvent;
}

function tell(
  job: JobRecord,
  waits: readonly JobWait[],
  pace: JobPace | null,
  now: number,
  warnings: Warnings,
): SentState {
  return {
    incarnation: job.incarnation,
    jobStatus: job.status,
    hasManifest: job.manifest !== null,
    key: `${job.status} ${job.reason?.code ?? ''} ${job.reason?.message ?? ''}`,
    status: statusEvent(job),
    progress: progressEvent(job, waits, pace, now),
    warnings,
    end: isOver(job) ? endEvent(job) : null,
  };
}

function isNewTo(sent: SentState, job: JobRecord): boolean {
  return sent.jobStatus !== job.status || sent.hasManifest !== (job.manifest !== null);
}
