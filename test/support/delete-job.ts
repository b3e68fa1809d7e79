import type { JobBook, LeaseBook } from '../../src/ports/ledger.ts';
import { NOW } from './builders.ts';
import { dueBy } from './due-by.ts';

/** Later than any lease that a test gives out. */
const LATE = NOW + 1000 * 3_600_000;

/**
 * Deletes a job from the ledger as the engine does, in any state: cancelled, taken from its workers, marked,
 * and forgotten. Answers whether it was there.
 */
export async function deleteJob(
  ledger: JobBook & Pick<LeaseBook, 'expire'>,
  jobId: string,
  now = NOW,
): Promise<boolean> {
  const job = await ledger.job(jobId);
  if (job === null) return false;
  await ledger.changeJob(jobId, { kind: 'cancel' }, now);
  if (job.counts.inProgress > 0) await ledger.expire(dueBy(LATE, Number.MIN_SAFE_INTEGER), 10_000);
  const { incarnation } = job;
  for (const kind of ['remove', 'remove-for-good'] as const) {
    const marked = await ledger.changeJob(jobId, { kind, incarnation }, now);
    if (marked === 'missing' || 'refused' in marked) throw new Error(`${kind} ${jobId}: ${JSON.stringify(marked)}`);
  }
  return await ledger.removeJob(jobId, incarnation);
}
