import type { JobRecord } from '../../domain/job.ts';
import type { Clock } from '../../ports/clock.ts';
import type { JobBook } from '../../ports/ledger.ts';
import { whyInUse } from '../results/job-in-use.ts';

type RemoveAnswer =
  | { readonly kind: 'removed' }
  /** It takes longer than a caller waits. The id stays taken until it is done, even if this process dies. */
  | { readonly kind: 'removing'; readonly job: JobRecord }
  | { readonly kind: 'missing' }
  | { readonly kind: 'refused'; readonly because: string };

interface RemoveDeps {
  readonly ledger: Pick<JobBook, 'job' | 'jobs' | 'activeJobs' | 'changeJob'>;
  readonly clock: Clock;
}

/**
 * Requests the deletion of a job and its results, and waits a little for it. It only writes a mark, and only while no
 * worker is processing the job; the leader's `Remover` does the rest. So a second caller joins the first, in whatever
 * process, and a process that dies leaves nothing half done. The mark names the job that existed when the request came: a
 * caller that was overtaken never deletes the next job with that id.
 */
export async function removeJob({ ledger, clock }: RemoveDeps, jobId: string): Promise<RemoveAnswer> {
  const job = await ledger.job(jobId);
  if (job === null) return { kind: 'missing' };
  const inUse = job.removing ? null : await whyInUse(ledger, job);
  if (inUse !== null) return { kind: 'refused', because: inUse };
  const { incarnation } = job;
  const marked = await ledger.changeJob(jobId, { kind: 'remove', incarnation }, clock.now());
  if (marked === 'missing') return { kind: 'removed' };
  if ('refused' in marked) {
    return marked.code === 'other_incarnation' ? { kind: 'removed' } : { kind: 'refused', because: marked.refused };
  }
  return await untilGone({ ledger, clock }, marked);
}

async function untilGone({ ledger, clock }: RemoveDeps, marked: JobRecord): Promise<RemoveAnswer> {
  const { jobId, incarnation } = marked;
  const until = clock.elapsed() + PATIENCE_MS;
  for (let pauseMs = FIRST_LOOK_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
    await clock.sleep(pauseMs);
    const job = await ledger.job(jobId);
    if (job?.incarnation !== incarnation) return { kind: 'removed' };
    // Between our check and our mark, another job came to need it.
    if (!job.removing) return { kind: 'refused', because: (await whyInUse(ledger, job)) ?? KEPT };
    if (clock.elapsed() >= until) return { kind: 'removing', job };
  }
}

const KEPT = 'another job needed it at that moment: try again';

const PATIENCE_MS = 2000;
const FIRST_LOOK_MS = 5;
const LONGEST_PAUSE_MS = 250;
