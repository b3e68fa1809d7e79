import type { RecordedScraper, RecordingClaim, SentRecording } from '../../../src/domain/recording/kept-recording.ts';
import { type RecordingTools, recordingTools } from '../../../src/main/recording-tools.ts';
import { openMemorySiteRows } from './site-rows.ts';

export function openMemoryRecordings(): RecordingTools {
  return recordingTools({
    recordingRows: openMemorySiteRows<SentRecording>(),
    claimRows: openMemorySiteRows<RecordingClaim>(),
    recordedScraperRows: openMemorySiteRows<RecordedScraper>(),
  });
}
