import type { ResetReason } from '../../contract/events.ts';
import type { RunEvent } from '../../contract/scrape-run-events.ts';
import type { RunItem, RunRecord } from '../../domain/scrape-run.ts';
import type { RunBook } from '../../ports/run-book.ts';
import { presentCounts, presentRun, presentRunItem } from '../runs/present-run.ts';
import { Feed, type FeedDeps, type FeedState } from './feed.ts';
import type { FeedEvent } from './feed-event.ts';

/** Maximum number in one `items` event. */
const MAX_ITEMS = 100;

/**
 * What happens to one scrape run. Items are known from the requests that this process served; what was changed through
 * another process is only in the counts.
 */
export class RunFeed extends Feed {
  readonly #runId: string;
  readonly #runs: Pick<RunBook, 'run'>;
  readonly #changed = new Map<string, RunItem>();
  #omitted = 0;
  #sent: SentState | null = null;

  constructor(deps: RunFeedDeps) {
    super(deps);
    this.#runId = deps.runId;
    this.#runs = deps.runs;
  }

  hear(items: readonly RunItem[]): void {
    for (const item of items) {
      if (this.#changed.size < MAX_ITEMS || this.#changed.has(item.url)) this.#changed.set(item.url, item);
      else this.#omitted += 1;
    }
    this.notice({ isUrgent: false });
  }

  /** The run has ended, was reopened or was deleted. */
  hurry(): void {
    this.notice({ isUrgent: true });
  }

  protected override state(): FeedState | null {
    if (this.#sent === null) return null;
    const { status, stats, end } = this.#sent;
    return { events: [status, stats, ...(end === null ? [] : [end])], isLast: end !== null };
  }

  protected override resetEvent(reason: ResetReason): FeedEvent {
    return runEvent({ event: 'reset', data: { run_id: this.#runId, reason } });
  }

  protected override async lookOnce(): Promise<void> {
    const run = await this.#runs.run(this.#runId);
    const sent = this.#sent;
    if (run === null) {
      if (sent !== null) this.send([runEvent({ event: 'gone', data: { run_id: this.#runId } })], true);
      this.stop();
      return;
    }
    const now = tell(run);
    this.#sent = now;
    // The first look is what the first watcher begins with.
    if (sent === null) return;
    const isEnd = now.end !== null && now.end.data !== sent.end?.data;
    const events: FeedEvent[] = [];
    if (this.#changed.size > 0) events.push(this.#takeItems());
    if (now.stats.data !== sent.stats.data) events.push(now.stats);
    if (now.status.data !== sent.status.data) events.push(now.status);
    if (now.end !== null && isEnd) events.push(now.end);
    if (events.length > 0) this.send(events, isEnd);
  }

  #takeItems(): FeedEvent {
    const items = [...this.#changed.values()].map(presentRunItem);
    const omitted = this.#omitted;
    this.#changed.clear();
    this.#omitted = 0;
    return runEvent({ event: 'items', data: { run_id: this.#runId, items, omitted } });
  }
}

interface RunFeedDeps extends FeedDeps {
  readonly runId: string;
  readonly runs: Pick<RunBook, 'run'>;
}

/** What a watcher that received everything knows. */
interface SentState {
  readonly status: FeedEvent;
  readonly stats: FeedEvent;
  readonly end: FeedEvent | null;
}

function tell(run: RunRecord): SentState {
  const { id: run_id, status, endTime } = presentRun(run);
  const counts = presentCounts(run.counts);
  return {
    status: runEvent({ event: 'status', data: { run_id, status, endTime } }),
    stats: runEvent({ event: 'stats', data: { run_id, counts } }),
    end: endTime === null ? null : runEvent({ event: 'end', data: { run_id, status, counts } }),
  };
}

function runEvent({ event, data }: RunEvent): FeedEvent {
  return { kind: event, data: JSON.stringify(data) };
}
