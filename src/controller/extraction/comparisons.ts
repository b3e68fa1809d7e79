import type { ComparisonAnswer, ComparisonTallyAnswer } from '../../contract/extraction-answers.ts';
import type { JobRecord } from '../../domain/job.ts';
import type { ItemBook, JobBook } from '../../ports/ledger.ts';
import type { CompareDeps } from './compare-data.ts';
import { ComparisonTally, compareJobs } from './compare-jobs.ts';

interface ComparisonsDeps extends CompareDeps {
  readonly ledger: JobBook & ItemBook;
  /** A comparison failed. The next request starts it again. */
  readonly onError: (where: string, error: unknown) => void;
}

/** Results kept in memory. A comparison only reads the data of changed items, so it can be repeated. */
const MAX_KEPT = 20;

/** Differences between two jobs. Clients poll for them: the first request starts the comparison, one at a time. */
export class Comparisons {
  readonly #deps: ComparisonsDeps;
  readonly #stop = new AbortController();
  readonly #running = new Map<string, ComparisonTally>();
  readonly #kept = new Map<string, ComparisonTallyAnswer>();
  #last: Promise<void> = Promise.resolve();

  constructor(deps: ComparisonsDeps) {
    this.#deps = deps;
  }

  compare(newer: JobRecord, older: JobRecord): ComparisonAnswer {
    const answer = (state: ComparisonAnswer['state'], tally: ComparisonTallyAnswer): ComparisonAnswer => ({
      ...{ job_id: newer.jobId, with: older.jobId, state, total: newer.counts.success + older.counts.success },
      ...tally,
    });
    if (!isOver(newer) || !isOver(older)) return answer('waiting', new ComparisonTally().result());
    const key = JSON.stringify([stateOf(newer), stateOf(older)]);
    const kept = this.#kept.get(key);
    if (kept !== undefined) return answer('complete', kept);
    return answer('comparing', (this.#running.get(key) ?? this.#begin(key, newer, older)).result());
  }

  /** Abandons a running comparison. */
  async close(): Promise<void> {
    this.#stop.abort();
    await this.#last;
  }

  #begin(key: string, newer: JobRecord, older: JobRecord): ComparisonTally {
    const tally = new ComparisonTally();
    this.#running.set(key, tally);
    this.#last = this.#last
      .then(async () => {
        if (!(await compareJobs(this.#deps, newer, older, tally, this.#stop.signal))) return;
        this.#kept.set(key, tally.result());
        const [oldest] = this.#kept.keys();
        if (this.#kept.size > MAX_KEPT && oldest !== undefined) this.#kept.delete(oldest);
      })
      .catch((error: unknown) => this.#deps.onError(`comparison of ${newer.jobId} with ${older.jobId}`, error))
      .finally(() => this.#running.delete(key));
    return tally;
  }
}

/** Changes whenever the data of the job may have changed. */
function stateOf({ jobId, incarnation, round, counts, replacedBy, replacedRound, recovering }: JobRecord): unknown {
  return [jobId, incarnation, round, counts.success, replacedBy, replacedRound, recovering];
}

/** Whether nothing is under way that would change its data. */
function isOver({ status, counts }: JobRecord): boolean {
  return (status === 'completed' || status === 'failed' || status === 'cancelled') && counts.inProgress === 0;
}
