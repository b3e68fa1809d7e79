import { MIN_SHARED_PAUSE_MS } from '../../domain/host-pause.ts';
import { withOperatorPauses } from '../../domain/host-settings.ts';
import type { JobRecord } from '../../domain/job.ts';
import { currentWait, sameHost } from '../../domain/job-wait.ts';
import type { Clock } from '../../ports/clock.ts';
import type { HostPauses } from '../../ports/host-pauses.ts';
import type { HostSettingsBook } from '../../ports/host-settings.ts';
import type { JobBook } from '../../ports/ledger.ts';

export interface LostWaitsDeps {
  readonly ledger: Pick<JobBook, 'changeJob'>;
  readonly clock: Pick<Clock, 'now'>;
  readonly hostPauses: Pick<HostPauses, 'inForce'>;
  readonly hostSettings: Pick<HostSettingsBook, 'list'>;
}

/**
 * Lets jobs continue that wait for a host whose pause was lifted. That happens when it is lifted; but a worker that
 * looked at the pauses just before may give its items back just after, which makes the job wait again.
 */
export async function endLostWaits(deps: LostWaitsDeps, jobs: readonly JobRecord[]): Promise<void> {
  const { ledger, clock, hostPauses, hostSettings } = deps;
  const waits = jobs.flatMap((job) => {
    const wait = currentWait(job, clock.now());
    // Workers do not share shorter ones.
    return wait === null || wait.until - wait.at < MIN_SHARED_PAUSE_MS ? [] : [{ jobId: job.jobId, host: wait.host }];
  });
  if (waits.length === 0) return;
  const [asked, settings] = await Promise.all([hostPauses.inForce(clock.now()), hostSettings.list()]);
  const paused = withOperatorPauses(asked, settings, clock.now());
  for (const { jobId, host } of waits) {
    if (paused.some((pause) => sameHost(pause.host, host))) continue;
    await ledger.changeJob(jobId, { kind: 'stop-waiting', host }, clock.now());
  }
}
