import type { RecordedScraper } from '../domain/recording/kept-recording.ts';

/** Scrapers that were stored as recordings, version by version. A version never changes. */
export interface RecordingBook {
  /** Every version of every scraper: by id, then the oldest first. Includes what has resolved. */
  list(): Promise<readonly RecordedScraper[]>;
  /** The oldest first; empty if there is no such scraper. */
  versions(id: string): Promise<readonly RecordedScraper[]>;
  /**
   * Adds a version, unless the scraper has one of that name: then nothing changes. Resolves to the one that is there
   * afterwards. Of calls at the same time with one version, one adds it.
   */
  add(scraper: RecordedScraper): Promise<RecordedScraper>;
  /** Removes this version, if it is still the one with this key. */
  remove(scraper: RecordedScraper): Promise<void>;
}
