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
 * Reopens what the site said it does not have since the last good control, because the one after it was bad. Nothing is
 * dispatched until it is done, and the job remembers that it is to be done: after a crash it is done again, and finds only
 * what is still failed.
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
      // An upload that is under way still is.
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
 * Workers on other machines, whose clocks are kept by NTP: an item that ended just before the control began by one of them
 * may have ended after it. One item too many is one request; one too few stays wrong.
 */
const CLOCKS_DIFFER_MS = 100;

const PAGE = 1000;
