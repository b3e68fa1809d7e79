import type { RecordedScraper, RecordingClaim, SentRecording } from '../domain/recording/kept-recording.ts';
import { composeKeptRecordings, composeRecordingBook } from '../ports/compose-recordings.ts';
import type { KeptRecordings } from '../ports/kept-recordings.ts';
import type { RecordingBook } from '../ports/recording-book.ts';
import type { SiteRows } from '../ports/site-rows.ts';

/** A controller's access to recordings that are not files. */
export interface RecordingTools {
  readonly recordings: KeptRecordings;
  readonly recordingBook: RecordingBook;
}

interface RecordingStores {
  readonly recordingRows: SiteRows<SentRecording>;
  readonly claimRows: SiteRows<RecordingClaim>;
  readonly recordedScraperRows: SiteRows<RecordedScraper>;
}

export function recordingTools({ recordingRows, claimRows, recordedScraperRows }: RecordingStores): RecordingTools {
  return {
    recordings: composeKeptRecordings(recordingRows, claimRows),
    recordingBook: composeRecordingBook(recordedScraperRows),
  };
}
