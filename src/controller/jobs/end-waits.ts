import { isRefusal } from '../../domain/job.ts';
import { currentWait, mayWaitFor } from '../../domain/job-wait.ts';
import { walkPages } from '../../domain/walk-pages.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Ledger } from '../../ports/ledger.ts';

/** Lets all jobs that wait for this host continue; returns how many there were. */
export async function endWaits(
  { ledger, clock }: { readonly ledger: Ledger; readonly clock: Pick<Clock, 'now'> },
  host: string,
): Promise<number> {
  let ended = 0;
  for await (const page of walkPages((after) => ledger.activeJobs({ after, limit: 100 }))) {
    for (const job of page.entries) {
      if (currentWait(job, clock.now()) === null || !mayWaitFor(job, host)) continue;
      const answer = await ledger.changeJob(job.jobId, { kind: 'stop-waiting', host }, clock.now());
      if (answer !== 'missing' && !isRefusal(answer)) ended += 1;
    }
  }
  return ended;
}
