import type { JobRecord } from '../../domain/job.ts';
import { walkPages } from '../../domain/walk-pages.ts';
import type { JobBook, Page } from '../../ports/ledger.ts';

const PAGE = 200;
/** Ten thousand jobs; beyond that it is enough to know that there are many. */
const MAX_PAGES = 50;

/** Pages of jobs that the engine has work for, up to a limit. */
export function activeJobs(ledger: Pick<JobBook, 'activeJobs'>): AsyncIterable<Page<JobRecord>> {
  let pages = 0;
  const mayGoOn = () => {
    pages += 1;
    return pages <= MAX_PAGES;
  };
  return walkPages((after) => ledger.activeJobs({ after, limit: PAGE }), mayGoOn);
}
