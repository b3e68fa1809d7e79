import type { RecordingClaim } from '../../domain/recording/kept-recording.ts';
import type { Clock } from '../../ports/clock.ts';
import type { KeptRecordings } from '../../ports/kept-recordings.ts';
import type { JobBook } from '../../ports/ledger.ts';
import type { RecordingBook } from '../../ports/recording-book.ts';

interface SweepDeps {
  readonly recordings: Pick<KeptRecordings, 'claims' | 'confirm' | 'remove'>;
  readonly recordingBook: Pick<RecordingBook, 'versions'>;
  readonly ledger: Pick<JobBook, 'job'>;
  readonly clock: Clock;
  readonly mayWork: () => boolean;
}

/** Longer than any request lasts that may still create the holder of a document. */
const OLD_MS = 3_600_000;
const AT_ONCE = 500;

/**
 * Settles claims of processes that died between keeping a recording and creating the job or scraper that uses it. A claim
 * of a job or scraper that exists is confirmed; any other document is removed.
 */
export class RecordingSweep {
  readonly #deps: SweepDeps;

  constructor(deps: SweepDeps) {
    this.#deps = deps;
  }

  async runOnce(): Promise<{ readonly confirmed: number; readonly removed: number }> {
    const { recordings, clock, mayWork } = this.#deps;
    const done = { confirmed: 0, removed: 0 };
    if (!mayWork()) return done;
    for (const claim of await recordings.claims(AT_ONCE)) {
      if (clock.now() - claim.at < OLD_MS) continue;
      if (!mayWork()) break;
      const isHeld = await this.#isHeld(claim);
      await (isHeld ? recordings.confirm(claim.key) : recordings.remove(claim.key));
      done[isHeld ? 'confirmed' : 'removed'] += 1;
    }
    return done;
  }

  async #isHeld({ key, holder }: RecordingClaim): Promise<boolean> {
    const { ledger, recordingBook } = this.#deps;
    if (holder.kind === 'job') return (await ledger.job(holder.jobId))?.recording?.key === key;
    return (await recordingBook.versions(holder.id)).some((version) => version.key === key);
  }
}
