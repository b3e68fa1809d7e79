import { type Digest, jobPrefix } from '../../domain/artifact.ts';
import { backoffMs } from '../../domain/backoff.ts';
import { isRefusal, type JobRecord } from '../../domain/job.ts';
import { passingStep } from '../../domain/job-plan.ts';
import { walkPages } from '../../domain/walk-pages.ts';
import type { Clock } from '../../ports/clock.ts';
import type { KeptRecordings } from '../../ports/kept-recordings.ts';
import type { Ledger } from '../../ports/ledger.ts';
import type { ResultStore } from '../../ports/result-store.ts';
import { whyInUse } from '../results/job-in-use.ts';
import type { EventStream } from './events.ts';

/**
 * Marks the samples of old plans and forgotten errands for deletion, and deletes the jobs that are marked for it (`removing`), results first: the id is released last of all, so that no other
 * job with that id can meet keys of this one. There are four steps; a process may die after any of them, and the next one
 * continues:
 *
 *   asked     a user has set the mark. It is written before checking which jobs need this one, and those write their own
 *             mark before they check this one: if two meet, at least one sees the other.
 *   for good  no other job needs it. From here on there is no way back.
 *   clear     no key is left under the job's prefix, and its recording is removed.
 *   gone      the ledger forgets the job, if it is still the same one, and its id can be reused.
 *
 * A worker that lost its lease before the mark may still send bytes of this job, and they may arrive while the next job
 * with the id is running. They do no harm: artifacts are put with `keep`, so that they never replace what is there; a free
 * key they take, and then the worker of the next job gets KeyTaken for it and never records those bytes.
 *
 * Only one process may do this: a slower one would go on to remove keys of the next job with that id. So it is the
 * leader's work, and before every step that removes keys the lead must still be the one under which the removal began. A
 * leader that took over from one that may be alive begins when nothing of that one can still arrive (`handoverMs`).
 */
export class Remover {
  readonly #deps: RemoverDeps;
  readonly #underWay = new Map<string, Promise<void>>();
  readonly #failed = new Map<string, { readonly times: number; readonly nextAt: number }>();
  #isStopped = false;

  constructor(deps: RemoverDeps) {
    this.#deps = deps;
  }

  /**
   * Begins with every marked job that is not being removed here yet; returns how many. Small jobs do not wait for large
   * ones.
   */
  async runOnce(): Promise<number> {
    let begun = 0;
    const read = (after: string | null) => this.#deps.ledger.activeJobs({ after, limit: 100 });
    for await (const page of walkPages(read, () => this.#term() !== null)) {
      for (const job of page.entries) {
        if (job.removing && this.#begin(job)) begun += 1;
        else if (!job.removing) await this.#endPassing(job);
      }
    }
    return begun;
  }

  /** Resolves when nothing is under way; the next leader finds what is left. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.whenIdle();
  }

  async whenIdle(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.all(this.#underWay.values());
  }

  /**
   * Marks a sample or an errand that was cancelled, or is so old that no request waits for it. The mark brings it here
   * again.
   */
  async #endPassing(job: JobRecord): Promise<void> {
    const { ledger, clock } = this.#deps;
    const { jobId, incarnation } = job;
    const step = passingStep(job, clock.now());
    if (step === 'cancel') await ledger.changeJob(jobId, { kind: 'cancel' }, clock.now());
    else if (step === 'remove') await ledger.changeJob(jobId, { kind: 'remove', incarnation }, clock.now());
  }

  #term(): number | null {
    return this.#isStopped ? null : this.#deps.leadTerm();
  }

  #begin(job: JobRecord): boolean {
    const { incarnation } = job;
    const nextAt = this.#failed.get(incarnation)?.nextAt ?? 0;
    if (this.#underWay.size >= MOST_AT_ONCE || this.#underWay.has(incarnation)) return false;
    if (this.#deps.clock.elapsed() < nextAt) return false;
    const work = this.#remove(job)
      .then(
        () => void this.#failed.delete(incarnation),
        (error: unknown) => this.#hasFailed(job, error),
      )
      .finally(() => {
        this.#underWay.delete(incarnation);
        this.#deps.again();
      });
    this.#underWay.set(incarnation, work);
    return true;
  }

  async #remove({ jobId, incarnation }: JobRecord): Promise<void> {
    const { ledger, store, recordings, clock, digest, events } = this.#deps;
    const term = this.#term();
    const mayWork = () => term !== null && this.#term() === term;
    // The list may have been read while an earlier removal was ending: then the id is free, or a new job has it. From
    // here on it cannot change, because only this removal can release the id.
    const job = await ledger.job(jobId);
    if (job === null || job.incarnation !== incarnation || !job.removing || !mayWork()) return;
    if (job.removing === 'asked') {
      const isInUse = (await whyInUse(ledger, job)) !== null;
      if (!mayWork()) return;
      const decided = await ledger.changeJob(
        jobId,
        { kind: isInUse ? 'keep' : 'remove-for-good', incarnation },
        clock.now(),
      );
      if (decided === 'missing' || isRefusal(decided) || isInUse) return;
    }
    await this.#deps.whenWritten(jobId);
    const clear = Promise.withResolvers<void>();
    let isClear = false;
    const emptied = store.removeAll(jobPrefix(jobId, digest), {
      // After the prefix is clear, deleting the remaining bytes is safe even for a former leader.
      mayGoOn: () => (isClear ? !this.#isStopped : mayWork()),
      onClear: () => {
        isClear = true;
        clear.resolve();
      },
    });
    // It is awaited at the end; if the ledger fails first, that is the error to report.
    emptied.catch(() => {});
    await Promise.race([clear.promise, emptied]);
    // Otherwise we were stopped, or another controller leads by now and removes the job.
    if (isClear && mayWork() && job.recording !== undefined) await recordings.remove(job.recording.key);
    if (isClear && mayWork() && (await ledger.removeJob(jobId, incarnation))) {
      events.publish({ kind: 'job-removed', jobId });
    }
    await emptied;
  }

  #hasFailed({ jobId, incarnation }: JobRecord, error: unknown): void {
    const { clock, events } = this.#deps;
    const times = (this.#failed.get(incarnation)?.times ?? 0) + 1;
    const pauseMs = backoffMs(times - 1, FIRST_PAUSE_MS, LONGEST_PAUSE_MS);
    this.#failed.set(incarnation, { times, nextAt: clock.elapsed() + pauseMs });
    events.publish({ kind: 'engine-error', where: `removal of the job ${jobId}`, error });
  }
}

/** Each of them keeps a connection busy while it lasts. */
const MOST_AT_ONCE = 8;
const FIRST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 300_000;

interface RemoverDeps {
  readonly ledger: Ledger;
  readonly store: Pick<ResultStore, 'removeAll'>;
  readonly recordings: Pick<KeptRecordings, 'remove'>;
  readonly clock: Clock;
  readonly events: EventStream;
  readonly digest: Digest;
  /** A new number each time we begin to lead; null while we do not, or must not touch results. */
  readonly leadTerm: () => number | null;
  /** Resolves when nothing is being written for the job any more. */
  readonly whenWritten: (jobId: string) => Promise<void>;
  /** Called if there may be more to do than could be begun at once. */
  readonly again: () => void;
}
