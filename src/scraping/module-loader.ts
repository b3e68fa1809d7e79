import { open } from 'node:fs/promises';
import { errorMessage } from '../domain/error-message.ts';
import { importScraper } from './import-scraper.ts';
import { scanOrRecall } from './kept-scans.ts';
import type { ScraperLoader } from './scraper-loader.ts';
import { SCRAPER_MODULES } from './scraper-modules.ts';

/** For scrapers that are the default export of a module. */
export const MODULE_LOADER: ScraperLoader = {
  scan: async (file) => scanOrRecall(file, await readSource(file)),
  load: importScraper,
  hasChanged: (file) => SCRAPER_MODULES.hasChanged(file),
  codeOf: (file) => SCRAPER_MODULES.codeOf(file),
};

/** Hand-written code is smaller. */
const MAX_SOURCE_BYTES = 1 << 20;

async function readSource(file: string): Promise<string> {
  const handle = await open(file).catch((error: unknown) => {
    throw new Error(`${file} cannot be read: ${errorMessage(error)}`);
  });
  try {
    const { size } = await handle.stat();
    if (size > MAX_SOURCE_BYTES) throw new Error(`${file} is larger than a source may be (${MAX_SOURCE_BYTES} bytes)`);
    return await handle.readFile('utf8');
  } finally {
    await handle.close();
  }
}
