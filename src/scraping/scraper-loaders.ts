import { MODULE_LOADER } from './module-loader.ts';
import { RECORDING_LOADER } from './recording-loader.ts';
import type { ScraperLoaders } from './scraper-loader.ts';

/** The kinds of files that scrapers are written in. A further kind is another line here. */
export const SCRAPER_LOADERS: ScraperLoaders = {
  '.ts': MODULE_LOADER,
  '.test.ts': null,
  '.d.ts': null,
  '.recording.json': RECORDING_LOADER,
};
