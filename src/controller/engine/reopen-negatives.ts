import { NEGATIVES } from '../../domain/job-controls.ts';
import { walkPages } from '../../domain/walk-pages.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Ledger } from '../../ports/ledger.ts';

interface ReopenNegativesDeps {
  readonly ledger: Pick<Ledger, 'job' | 'reopen' | 'changeJob'>;
  readonly clock: Clock;
  readonly mayWork: () => boolean;
}

/**
 * Reopens the items that the site did not find since the last good control, because the control after it was bad.
 * Nothing is dispatched until that is done, and the job records that it must be done: after a crash it is repeated, and
 * finds only items that are still failed.
 */
export async function reopenNegatives(
  { ledger, clock, mayWork }: ReopenNegativesDeps,
  jobId: string,
  since: number | null,
): Promise<void> {
  const limits = since === null ? {} : { endedSince: since - CLOCKS_DIFFER_MS };
  for (const errorType of NEGATIVES) {
    const filter = { errorType, itemIds: null, groupKeys: null, preview: false, ...limits };
    const read = async (after: string | null) => {
      const job = await ledger.job(jobId);
      const now = clock.now();
      // Keeps an upload that is under way open.
      const answer = await ledger.reopen(
        jobId,
        filter,
        { after, limit: PAGE },
        Math.max(job?.openUntil ?? 0, now),
        now,
      );
      return 'kind' in answer && answer.kind === 'reopened' ? answer : null;
    };
    for await (const page of walkPages(async (after) => (await read(after)) ?? STOPPED, mayWork)) {
      if (page === STOPPED) return;
      await clock.turn();
    }
    if (!mayWork()) return;
  }
  await ledger.changeJob(jobId, { kind: 'negatives-reopened' }, clock.now());
}

const STOPPED = { next: null };

/**
 * Workers on other machines have clocks kept by NTP: an item that, by its worker's clock, ended just before the control
 * began may have ended after it. One item too many costs one request; one too few stays wrong.
 */
const CLOCKS_DIFFER_MS = 100;

const PAGE = 1000;
