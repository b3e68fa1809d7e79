import { readFileSync } from 'node:fs';
import { parseRecording } from '../../src/domain/recording/parse-recording.ts';
import type { Engine } from '../../src/domain/recording/recording.ts';
import { recordingScraper } from '../../src/scraping/actions/recording-scraper.ts';
import type { Scraper } from '../../src/scraping/scraper.ts';

const FILE = new URL('../../scrapers/demo/county-recorded.recording.json', import.meta.url);

/** The recording of the demo county on one engine, as a scraper of its own. */
export function countyRecording(id: string, engine: Engine): Scraper {
  const parsed = parseRecording({ ...JSON.parse(readFileSync(FILE, 'utf8')), id, engine });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return recordingScraper(parsed.recording);
}
