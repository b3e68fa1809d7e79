import type { JobRecording, SentRecording } from '../domain/recording/kept-recording.ts';
import type { Clock } from '../ports/clock.ts';
import type { WorkerRecordings } from '../ports/kept-recordings.ts';
import { StorageTrouble } from '../ports/storage-trouble.ts';
import { within } from '../ports/within.ts';
import type { Scraper } from './scraper.ts';

/** A recording that cannot be had now, which says nothing about the items that need it. */
export class RecordingUnreachable extends Error {
  override name = 'RecordingUnreachable';
}

/** One is a few hundred kilobytes with its compiled schemas; jobs that run at the same time use few. */
const MOST_KEPT = 50;

/** A worker waits for it with a lease in its hands. */
const DEADLINE_MS = 20_000;

/** How many problems a message shows. */
const SHOWN_PROBLEMS = 3;

/**
 * Scrapers made of recordings that are not files, by digest: jobs with the same steps share one. The most recently used are
 * kept.
 */
export class RecordingScrapers {
  readonly #recordings: WorkerRecordings;
  readonly #clock: Pick<Clock, 'sleep'>;
  readonly #kept = new Map<string, Promise<Scraper>>();

  constructor({ recordings, clock }: { readonly recordings: WorkerRecordings; readonly clock: Pick<Clock, 'sleep'> }) {
    this.#recordings = recordings;
    this.#clock = clock;
  }

  /**
   * Throws RecordingUnreachable or StorageTrouble if the recording cannot be read now, and another Error if it is gone or
   * cannot be used.
   */
  find(recording: Pick<JobRecording, 'key' | 'digest'>): Promise<Scraper> {
    return this.#cached(recording.digest, async () => makeScraper(await this.#read(recording)));
  }

  /** Throws an Error that names what is wrong with it. */
  make(sent: SentRecording): Promise<Scraper> {
    return this.#cached(sent.digest, () => makeScraper(sent));
  }

  #cached(digest: string, make: () => Promise<Scraper>): Promise<Scraper> {
    const made = this.#kept.get(digest) ?? make();
    // The most recently used are last.
    this.#kept.delete(digest);
    this.#kept.set(digest, made);
    made.catch(() => {
      if (this.#kept.get(digest) === made) this.#kept.delete(digest);
    });
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > MOST_KEPT && oldest !== undefined) this.#kept.delete(oldest);
    return made;
  }

  async #read({ key, digest }: Pick<JobRecording, 'key' | 'digest'>): Promise<SentRecording> {
    const asked = this.#recordings.get(key).catch((error: unknown) => {
      if (error instanceof StorageTrouble) throw error;
      throw new RecordingUnreachable('the recording of the job cannot be read', { cause: error });
    });
    const sent = await within(this.#clock, DEADLINE_MS, asked, () => 'late' as const);
    if (sent === 'late') throw new RecordingUnreachable(`the recording was not sent within ${DEADLINE_MS / 1000} s`);
    if (sent?.digest === digest) return sent;
    throw new Error(sent === null ? 'the recording of the job is gone' : 'the recording of the job was replaced');
  }
}

/** The schemas of all steps, and the engines, are loaded only where there is a recording. */
async function makeScraper({ document }: SentRecording): Promise<Scraper> {
  const { parseRecording } = await import('../domain/recording/parse-recording.ts');
  const parsed = parseRecording(document);
  if (parsed.ok) return (await import('./actions/recording-scraper.ts')).recordingScraper(parsed.recording);
  const { describeProblem } = await import('../domain/recording/problem.ts');
  const shown = parsed.problems.slice(0, SHOWN_PROBLEMS).map(describeProblem);
  throw new UnusableRecording(`this version of Trawl cannot use the recording: ${shown.join('; ')}`);
}

export class UnusableRecording extends Error {
  override name = 'UnusableRecording';
}
