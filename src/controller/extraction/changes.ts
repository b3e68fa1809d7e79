import { z } from 'zod';
import { type ChangesAnswer, type ChangeTallyAnswer, changeTallySchema } from '../../contract/extraction-answers.ts';
import { type Digest, jobPrefix } from '../../domain/artifact.ts';
import type { JobRecord } from '../../domain/job.ts';
import type { ItemBook, JobBook } from '../../ports/ledger.ts';
import type { ResultStore } from '../../ports/result-store.ts';
import { ChangeTally } from './change-tally.ts';
import { type CompareDeps, compareData } from './compare-data.ts';

interface ChangeBookDeps extends CompareDeps {
  readonly ledger: JobBook & ItemBook;
  readonly store: Pick<ResultStore, 'get' | 'put'>;
  readonly digest: Digest;
  /** A comparison failed. The next request starts it again. */
  readonly onError: (where: string, error: unknown) => void;
}

/** A retry of failed items begins another round, which makes the stored result of the previous one outdated. */
const keptSchema = changeTallySchema.extend({
  round: z.int().min(1),
  // Older versions did not count recovered items.
  recovered: z.int().min(0).default(0),
});

const NOTHING: ChangeTallyAnswer = { compared: 0, changed: 0, recovered: 0, fields: [] };

type Extraction = JobRecord & { readonly extracts: string };

/**
 * What re-extractions found different. Clients poll for it: the first request after the job is over starts the
 * comparison, one job at a time, and its result is stored with the job's results.
 */
export class ChangeBook {
  readonly #deps: ChangeBookDeps;
  readonly #stop = new AbortController();
  readonly #running = new Map<string, ChangeTally>();
  #last: Promise<void> = Promise.resolve();

  constructor(deps: ChangeBookDeps) {
    this.#deps = deps;
  }

  /** Null for a job that is not a re-extraction. */
  async changesOf(job: JobRecord): Promise<ChangesAnswer | null> {
    if (!isExtraction(job)) return null;
    const { jobId, extracts, counts } = job;
    const source = await this.#deps.ledger.job(extracts);
    const replaced = source?.replacedBy === jobId;
    const answer = (
      state: ChangesAnswer['state'],
      { compared, changed, recovered, fields }: ChangeTallyAnswer,
    ): ChangesAnswer => ({
      ...{ job_id: jobId, extracts, state },
      ...{ compared, total: counts.success, changed, failed: counts.failed, recovered, fields, replaced },
    });
    if (!isOver(job)) return answer('waiting', NOTHING);
    const running = this.#running.get(jobId);
    if (running !== undefined) return answer('comparing', running.result());
    const kept = await this.#kept(job);
    if (kept !== null) return answer('complete', kept);
    // The older job is gone, so there is nothing to compare with; `compared` is 0.
    if (source === null) return answer('complete', NOTHING);
    return answer('comparing', this.#begin(job).result());
  }

  /** Abandons a running comparison; it starts again after a restart. */
  async close(): Promise<void> {
    this.#stop.abort();
    await this.#last;
  }

  async #kept(job: Extraction): Promise<ChangeTallyAnswer | null> {
    const bytes = await this.#deps.store.get(this.#keyOf(job));
    if (bytes === null) return null;
    const kept = keptSchema.safeParse(parsed(bytes));
    return kept.success && kept.data.round === job.round ? kept.data : null;
  }

  #begin(job: Extraction): ChangeTally {
    // Another request may have started it while we looked for a stored result.
    const running = this.#running.get(job.jobId);
    if (running !== undefined) return running;
    const tally = new ChangeTally();
    this.#running.set(job.jobId, tally);
    this.#last = this.#last
      .then(() => this.#compare(job, tally))
      .catch((error: unknown) => this.#deps.onError(`changes of job ${job.jobId}`, error))
      .finally(() => this.#running.delete(job.jobId));
    return tally;
  }

  async #compare(job: Extraction, tally: ChangeTally): Promise<void> {
    const { ledger, store } = this.#deps;
    if (!(await compareData(this.#deps, job, tally, this.#stop.signal))) return;
    const current = await ledger.job(job.jobId);
    // Deleted or reopened: what was compared is outdated.
    if (current === null || current.round !== job.round || !isOver(current)) return;
    const text = `${JSON.stringify({ round: job.round, ...tally.result() })}\n`;
    await store.put(this.#keyOf(job), new TextEncoder().encode(text), {
      contentType: 'application/json',
      encoding: 'identity',
      ifTaken: 'replace',
    });
  }

  #keyOf({ jobId }: Extraction): string {
    return `${jobPrefix(jobId, this.#deps.digest)}changes.json`;
  }
}

function isExtraction(job: JobRecord): job is Extraction {
  return job.extracts !== undefined;
}

function isOver({ status, counts }: JobRecord): boolean {
  return status === 'completed' || (status === 'cancelled' && counts.inProgress === 0);
}

function parsed(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return null;
  }
}
