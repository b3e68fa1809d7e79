import type { JobRecord, NewJob } from '../../../domain/job.ts';
import type { RecordingOrigin } from '../../../domain/recording/kept-recording.ts';
import type { Clock } from '../../../ports/clock.ts';
import type { Faults } from '../../../ports/faults.ts';
import type { KeptRecordings } from '../../../ports/kept-recordings.ts';
import type { CatalogScraper } from '../../intake/scraper-catalog.ts';

export interface KeepDeps {
  readonly recordings: Pick<KeptRecordings, 'claim' | 'keep' | 'confirm' | 'remove'>;
  readonly clock: Clock;
  readonly faults: Faults;
}

/**
 * Creates a job. If its scraper is a recording that is not a file, the job gets a copy of its own: a retry runs the same
 * steps, whatever has become of the stored one. The copy is there before the job is, and goes with it; one whose job was
 * not created is removed here or, if this process dies first, by the `RecordingSweep`.
 */
export async function createWithRecording<Answer extends { readonly kind: string; readonly job?: JobRecord }>(
  { recordings, clock, faults }: KeepDeps,
  job: NewJob,
  { scraper, origin }: { readonly scraper: Pick<CatalogScraper, 'recording'>; readonly origin: RecordingOrigin },
  create: (job: NewJob) => Promise<Answer>,
): Promise<Answer> {
  if (scraper.recording === null) return await create(job);
  const { sent, steps } = scraper.recording;
  const key = clock.id();
  await recordings.claim({ key, holder: { kind: 'job', jobId: job.jobId }, at: clock.now() });
  await recordings.keep(key, sent);
  await faults.at('after-recording-before-job');
  const answer = await create({ ...job, recording: { key, digest: sent.digest, origin, steps } });
  // A call that was repeated because its answer was lost may find the job that it created itself.
  const isUsed = answer.kind === 'created' || answer.job?.recording?.key === key;
  // What fails here is done by the sweep.
  await (isUsed ? recordings.confirm(key) : recordings.remove(key)).catch(() => {});
  return answer;
}
