import { systemClock } from '../adapters/system/clock.ts';
import { type Config, ConfigError } from '../config.ts';
import type { RecordedVisit } from '../domain/recording/record/compose-recorded.ts';
import { recordVisit } from '../scraping/actions/recorder/record-visit.ts';
import { NO_LOG } from '../scraping/fixtures/run-case.ts';
import { ScrapeFailure } from '../scraping/scrape-failure.ts';
import { openBrowserTools } from './browser-tools.ts';

/** Opens a window at an address, and records what is done in it until it is closed or `signal` aborts. */
export async function recordInBrowser(
  config: Config,
  { url, signal, onOpen }: { readonly url: string; readonly signal: AbortSignal; readonly onOpen: () => void },
): Promise<RecordedVisit> {
  if (config.browserProvider !== 'local') {
    throw new ConfigError(
      `a browser of ${config.browserProvider} has no window here: set TRAWL_BROWSER_PROVIDER=local`,
    );
  }
  const clock = systemClock();
  const { tools, close } = openBrowserTools(config, { clock, onTrouble: () => {} });
  try {
    return await recordVisit({ browser: tools, log: NO_LOG, url, signal, now: () => clock.now(), onOpen });
  } catch (error) {
    throw error instanceof ScrapeFailure ? new ConfigError(`${url} cannot be recorded: ${error.message}`) : error;
  } finally {
    await close();
  }
}
