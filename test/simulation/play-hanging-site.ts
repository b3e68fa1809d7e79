import type { NewJobRequest } from '../../src/contract/new-job.ts';
import { Dice } from './dice.ts';
import type { HangingSite } from './hanging-site.ts';
import type { Script } from './scripted-scraper.ts';
import type { Sim } from './sim.ts';
import type { User } from './user.ts';

/** Two small jobs of two items on two slots, three seconds an item, and the time until the job's end is known. */
const DONE_WITHIN_MS = 20_000;

const HANGS_FOR_SECONDS = 45;

export function playHangingSite(site: HangingSite, sim: Sim, user: User, dice: Dice): void {
  const slots = site.workers.reduce((sum, each) => sum + each, 0);
  user.submitOne(jobOf(site.hanging, 5 * slots, 10_000), 0, () => {});
  for (const jobId of site.small) {
    const job = jobOf(jobId, dice.int(1, 2), dice.int(1, 3));
    user.submitOne(job, dice.between(3000, 12_000), () => mustBeDoneSoon(jobId, sim));
  }
}

function mustBeDoneSoon(jobId: string, { timeline, backend, oracle }: Sim): void {
  timeline.after(DONE_WITHIN_MS, () => {
    void backend.ledger.job(jobId).then((job) => {
      // Items that were added since begin another round.
      if (job === null || job.status === 'completed' || job.round > 1) return;
      const { queued, inProgress } = job.counts;
      oracle.fail(`${jobId} starves: after ${DONE_WITHIN_MS} ms ${queued} queued, ${inProgress} in progress`);
    });
  });
}

function jobOf(jobId: string, items: number, concurrency: number): NewJobRequest {
  return {
    job_id: jobId,
    scraper_id: 'scripted',
    items: Array.from({ length: items }, (_, index) => ({ item_id: `${jobId}-${index}`, input: {} })),
    execution_policy: {
      throttling: { max_concurrent_workers: concurrency, adaptive: false },
      retries: { max_retries: 0 },
      timeouts: { item_timeout_seconds: HANGS_FOR_SECONDS },
      circuit_breaker: { min_requests: 10_000, consecutive_failures: 10_000 },
    },
  };
}

/**
 * What sites do to all items of a job: hang in a world of this kind, where the small jobs' sites are fine; now and then
 * in others, too, in addition to their other faults.
 */
export function sitesOf({ hangingSite, faults, seed }: Sim): (jobId: string) => Script | null {
  const hangs = faults.isOn('site-hangs');
  return (jobId) => {
    if (hangingSite !== null) return jobId === hangingSite.hanging ? HANGS : WELL;
    return hangs && new Dice(seed, `site of ${jobId}`).happens(0.3) ? HANGS : null;
  };
}

const HANGS: Script = { kind: 'never-returns' };
const WELL: Script = { kind: 'scraped', artifacts: 1, size: 100 };
