import { type Digest, jobPrefix } from '../domain/artifact.ts';
import type { JobRecord } from '../domain/job.ts';
import type { Clock } from '../ports/clock.ts';
import type { Ledger, Page, PageRequest } from '../ports/ledger.ts';
import type { ResultStore } from '../ports/result-store.ts';
import { mayRemove } from './extraction/replace-results.ts';

export type RemoveAnswer =
  | { readonly kind: 'removed' }
  | { readonly kind: 'missing' }
  | { readonly kind: 'refused'; readonly because: string };

export interface RemoveParts {
  readonly ledger: Ledger;
  readonly store: ResultStore;
  readonly clock: Clock;
  readonly digest: Digest;
  readonly onError: (where: string, error: unknown) => void;
}

/**
 * Deletes a job and its results. First it is marked, by a write that holds only while no worker is at it: from then on
 * nothing is done with it any more. Then its results go, and its id is free last, so that no other job of that id can meet
 * files of this one. Whoever dies in between leaves a marked job, which the next start deletes.
 */
export async function removeJob(parts: RemoveParts, jobId: string): Promise<RemoveAnswer> {
  const { ledger, clock } = parts;
  const job = await ledger.job(jobId);
  if (job === null) return { kind: 'missing' };
  const guarded = (await mayRemove(job, ledger)) ?? (await readBy(ledger, jobId));
  if (guarded !== null) return { kind: 'refused', because: guarded };
  const marked = await ledger.changeJob(jobId, { kind: 'remove' }, clock.now());
  if (marked === 'missing') return { kind: 'missing' };
  if ('refused' in marked) return { kind: 'refused', because: marked.refused };
  await carryOut(parts, jobId);
  return { kind: 'removed' };
}

/** Ends what a process that died had begun. */
export async function resumeRemovals(parts: RemoveParts): Promise<void> {
  let after: string | null = null;
  do {
    const page = await parts.ledger.activeJobs({ after, limit: 100 });
    for (const { jobId, removing } of page.entries) if (removing) await carryOut(parts, jobId);
    after = page.next;
  } while (after !== null);
}

async function carryOut(parts: RemoveParts, jobId: string): Promise<void> {
  await unlessLong(parts, parts.store.removeAll(jobPrefix(jobId, parts.digest)));
  await parts.ledger.removeJob(jobId);
}

/** A re-extraction that is under way, or will go on when it is resumed, needs the pages. */
async function readBy(ledger: Ledger, jobId: string): Promise<string | null> {
  const active = (page: PageRequest) => ledger.activeJobs(page);
  const paused = (page: PageRequest) => ledger.jobs({ status: 'paused', page });
  const reader = (await extractionIn(active, jobId)) ?? (await extractionIn(paused, jobId));
  return reader === null ? null : `the job ${reader} reads its pages: wait for it, or cancel it`;
}

async function extractionIn(
  pageOf: (page: PageRequest) => Promise<Page<JobRecord>>,
  source: string,
): Promise<string | null> {
  let after: string | null = null;
  do {
    const page = await pageOf({ after, limit: 100 });
    const reader = page.entries.find(({ extracts }) => extracts === source);
    if (reader !== undefined) return reader.jobId;
    after = page.next;
  } while (after !== null);
  return null;
}

/** A million files take minutes, for which nobody waits: they are out of the way, and are removed behind our back. */
async function unlessLong({ clock, onError }: RemoveParts, removal: Promise<number>): Promise<void> {
  const done = new AbortController();
  const removed = removal.then(() => 'removed' as const).finally(() => done.abort());
  const first = await Promise.race([removed, clock.sleep(PATIENCE_MS, done.signal)]);
  if (first !== 'removed') removed.catch((error: unknown) => onError('removal of results', error));
}

const PATIENCE_MS = 2000;
