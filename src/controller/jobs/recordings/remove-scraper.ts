import type { JobStatus } from '../../../domain/job-steps.ts';
import { walkPages } from '../../../domain/walk-pages.ts';
import type { Clock } from '../../../ports/clock.ts';
import type { KeptRecordings } from '../../../ports/kept-recordings.ts';
import type { JobBook } from '../../../ports/ledger.ts';
import type { RecordingBook } from '../../../ports/recording-book.ts';

interface RemoveDeps {
  readonly recordings: Pick<KeptRecordings, 'claim' | 'remove'>;
  readonly recordingBook: RecordingBook;
  readonly ledger: Pick<JobBook, 'jobs'>;
  readonly clock: Clock;
}

export type RemoveScraperAnswer =
  | { readonly kind: 'missing' }
  | { readonly kind: 'in-use'; readonly jobId: string; readonly status: JobStatus }
  | { readonly kind: 'removed'; readonly versions: number };

const UNFINISHED = ['pending', 'in_progress', 'paused'] as const satisfies readonly JobStatus[];

/**
 * Removes every version of a stored scraper. Jobs have copies of their own, so finished ones can still be retried; one that
 * is not finished refuses the removal, because its user counts on the scraper.
 */
export async function removeScraper(deps: RemoveDeps, id: string): Promise<RemoveScraperAnswer> {
  const { recordings, recordingBook, clock } = deps;
  const versions = await recordingBook.versions(id);
  if (versions.length === 0) return { kind: 'missing' };
  const user = await findUser(deps, id);
  if (user !== null) return { kind: 'in-use', ...user };
  for (const version of versions) {
    const { key } = version;
    // If this process dies on the way, the document is found by its claim.
    await recordings.claim({ key, holder: { kind: 'scraper', id }, at: clock.now() });
    await recordingBook.remove(version);
    await recordings.remove(key);
  }
  return { kind: 'removed', versions: versions.length };
}

async function findUser({ ledger }: Pick<RemoveDeps, 'ledger'>, id: string) {
  for (const status of UNFINISHED) {
    for await (const page of walkPages((after) => ledger.jobs({ status, page: { after, limit: 100 } }))) {
      const found = page.entries.find((job) => job.scraperId === id && job.recording?.origin === 'stored');
      if (found !== undefined) return { jobId: found.jobId, status: found.status };
    }
  }
  return null;
}
