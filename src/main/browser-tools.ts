import type { Config } from '../config.ts';
import { openBrowserEgress } from '../egress/browser/browser-egress.ts';
import type { Clock } from '../ports/clock.ts';
import type { BrowserTools } from '../scraping/browser/browser-tools.ts';
import { guardedWays } from '../scraping/browser/guarded-ways.ts';
import { KeptContexts } from '../scraping/browser/kept-contexts.ts';
import { Suspects } from '../scraping/browser/suspects.ts';
import { openBrowsers } from './browsers.ts';
import { egressSettings } from './egress-settings.ts';

export interface OpenBrowserTools {
  readonly tools: BrowserTools;
  close(): Promise<void>;
}

/**
 * Browsers for scrapers. No browser starts before the first item needs one. Loaded only by processes that need
 * browsers: Playwright alone takes longer to load than a worker takes to start.
 */
export function openBrowserTools(
  config: Config,
  { clock, onTrouble }: { readonly clock: Clock; readonly onTrouble: (where: string, error: unknown) => void },
): OpenBrowserTools {
  const egress = openBrowserEgress({ ...egressSettings(config), clock });
  const { browserHeaded, browserSlowMs: slowMs } = config;
  const browsers = openBrowsers(config, {
    clock,
    args: egress.launchArgs,
    headless: !browserHeaded,
    slowMs,
    onTrouble,
  });
  const ways = guardedWays(egress, browsers.provider === 'local' ? 'local' : 'remote');
  const kept = new KeptContexts(clock);
  return {
    tools: { contexts: browsers, ways, kept, suspects: new Suspects(), clock },
    async close() {
      await kept.close();
      await browsers.close();
      await egress.close();
    },
  };
}
