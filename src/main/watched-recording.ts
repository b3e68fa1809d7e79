import { ConfigError } from '../config.ts';
import type { Engine } from '../domain/recording/recording.ts';
import type { StepPause } from '../domain/recording/step-pause.ts';
import { recordingScraper } from '../scraping/actions/recording-scraper.ts';
import { readRecording } from '../scraping/recording-loader.ts';
import type { Scraper } from '../scraping/scraper.ts';

/** How a recording is run for someone who watches. */
export interface Watching {
  /** Null for the recording's own. */
  readonly engine: Engine | null;
  readonly pause: StepPause | null;
}

export function isRecordingFile(name: string): boolean {
  return name.endsWith('.recording.json');
}

/** The recording in a file, to be watched. Throws a ConfigError for a scraper that is not a recording. */
export async function loadWatched(file: string, { engine, pause }: Watching): Promise<Scraper> {
  if (!isRecordingFile(file)) throw new ConfigError(`${file} is not a recording`);
  const recording = await readRecording(file);
  const { recovery } = recording;
  const changed = {
    ...recording,
    engine: engine ?? recording.engine,
    // To begin again is for the person to say.
    recovery: pause === null ? recovery : { ...recovery, startOver: 0 },
  };
  return recordingScraper(changed, pause);
}
