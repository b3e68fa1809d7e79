import { z } from 'zod';
import type { ChangesAnswer } from '../../contract/answers.ts';
import { type Digest, jobPrefix } from '../../domain/artifact.ts';
import type { JobRecord } from '../../domain/job.ts';
import type { ItemBook, JobBook } from '../../ports/ledger.ts';
import type { ResultStore } from '../../ports/result-store.ts';
import { ChangeTally, type Tally, tallySchema } from './change-tally.ts';
import { type CompareParts, compareData } from './compare-data.ts';

export interface ChangeParts extends CompareParts {
  readonly ledger: JobBook & ItemBook;
  readonly store: Pick<ResultStore, 'get' | 'put'>;
  readonly digest: Digest;
  /** A comparison that failed. It begins anew when somebody asks again. */
  readonly onError: (where: string, error: unknown) => void;
}

/** A retry of items that failed makes another round, and then what was kept of the last one is out of date. */
const keptSchema = tallySchema.extend({ round: z.int().min(1) });

const NOTHING: Tally = { compared: 0, changed: 0, recovered: 0, fields: [] };

type Extraction = JobRecord & { readonly extracts: string };

/**
 * What re-extractions found different. It is asked for over and over: the first question after the job is over begins
 * the comparison, one job at a time, and what comes out of it is kept with the job's results.
 */
export class ChangeBook {
  readonly #parts: ChangeParts;
  readonly #stop = new AbortController();
  readonly #running = new Map<string, ChangeTally>();
  #last: Promise<void> = Promise.resolve();

  constructor(parts: ChangeParts) {
    this.#parts = parts;
  }

  /** Null for a job that is no re-extraction. */
  async changesOf(job: JobRecord): Promise<ChangesAnswer | null> {
    if (!isExtraction(job)) return null;
    const { jobId, extracts, counts } = job;
    const source = await this.#parts.ledger.job(extracts);
    const replaced = source?.replacedBy === jobId;
    const answer = (state: ChangesAnswer['state'], { compared, changed, recovered, fields }: Tally): ChangesAnswer => ({
      ...{ job_id: jobId, extracts, state },
      ...{ compared, total: counts.success, changed, failed: counts.failed, recovered, fields, replaced },
    });
    if (!isOver(job)) return answer('waiting', NOTHING);
    const running = this.#running.get(jobId);
    if (running !== undefined) return answer('comparing', running.result());
    const kept = await this.#kept(job);
    if (kept !== null) return answer('complete', kept);
    // The older job is gone: there is nothing left to compare with, and `compared` says so.
    if (source === null) return answer('complete', NOTHING);
    return answer('comparing', this.#begin(job).result());
  }

  /** Leaves what is under way: it is begun anew after a restart. */
  async close(): Promise<void> {
    this.#stop.abort();
    await this.#last;
  }

  async #kept(job: Extraction): Promise<Tally | null> {
    const bytes = await this.#parts.store.get(this.#keyOf(job));
    if (bytes === null) return null;
    const kept = keptSchema.safeParse(parsed(bytes));
    return kept.success && kept.data.round === job.round ? kept.data : null;
  }

  #begin(job: Extraction): ChangeTally {
    // Somebody else may have asked while we looked for what was kept.
    const running = this.#running.get(job.jobId);
    if (running !== undefined) return running;
    const tally = new ChangeTally();
    this.#running.set(job.jobId, tally);
    this.#last = this.#last
      .then(() => this.#compare(job, tally))
      .catch((error: unknown) => this.#parts.onError(`changes of job ${job.jobId}`, error))
      .finally(() => this.#running.delete(job.jobId));
    return tally;
  }

  async #compare(job: Extraction, tally: ChangeTally): Promise<void> {
    const { ledger, store } = this.#parts;
    if (!(await compareData(this.#parts, job, tally, this.#stop.signal))) return;
    const current = await ledger.job(job.jobId);
    // Deleted, or reopened: what was seen is not what there is.
    if (current === null || current.round !== job.round || !isOver(current)) return;
    const text = `${JSON.stringify({ round: job.round, ...tally.result() })}\n`;
    await store.put(this.#keyOf(job), new TextEncoder().encode(text), {
      contentType: 'application/json',
      encoding: 'identity',
      ifTaken: 'replace',
    });
  }

  #keyOf({ jobId }: Extraction): string {
    return `${jobPrefix(jobId, this.#parts.digest)}changes.json`;
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
