import { systemClock } from '../adapters/system/clock.ts';
import type { Config } from '../config.ts';
import { errorMessage } from '../domain/error-message.ts';
import { openNameLookup } from '../egress/name-lookup.ts';
import type { Clock } from '../ports/clock.ts';
import { loadBackend } from './backends.ts';
import type { Check, InspectOptions } from './check.ts';
import { egressSettings } from './egress-settings.ts';
import { loadResults } from './results-backends.ts';
import { findScrapers } from './scrapers.ts';

export type Inspection = ReturnType<typeof inspect>;

/** What `trawl doctor` can find out about an installation, whether or not an engine runs on it. */
export function inspect(config: Config) {
  const clock = systemClock();
  return {
    clock,
    /** Looks up the addresses of a name as workers do. */
    async resolveName(name: string): Promise<unknown> {
      const names = openNameLookup({ clock, servers: egressSettings(config).dnsServers });
      return await names.lookup(name).finally(() => names.close());
    },
    /** The result of trying each configured proxy. */
    proxies: (options: Pick<InspectOptions, 'offline'>) => tryProxies(config, clock, options.offline),
    storage: (options: InspectOptions) => checkStorage(config, options),
    /** The Chromium of browser scrapers. */
    async chromium(): Promise<Check> {
      const { checkChromium } = await import('./chromium.ts');
      return checkChromium(config);
    },
    slotUnit: async () => (await loadBackend(config)).slotUnit,
    scrapers: async () => (await findScrapers(config)).check(),
    /** Null if workers can use the settings for egress. */
    egressProblem(): string | null {
      try {
        egressSettings(config);
        return null;
      } catch (error) {
        return errorMessage(error);
      }
    },
  };
}

/**
 * Loaded on demand, because it includes the HTTP client. Settings that cannot be read are reported as a problem of
 * egress.
 */
async function tryProxies(config: Config, clock: Clock, isOffline: boolean): Promise<readonly Check[]> {
  try {
    egressSettings(config);
  } catch {
    return [];
  }
  const { checkProxies } = await import('./proxy-checks.ts');
  return checkProxies(config, clock, isOffline);
}

async function checkStorage(config: Config, options: InspectOptions): Promise<readonly Check[]> {
  const backend = await loadBackend(config);
  const results = await loadResults(config);
  const checks = await Promise.all([backend.inspect(config, options), results.inspect(config, options)]);
  const texts = new Set<string>();
  // Both may check the same thing: the data directory, or the credentials.
  return checks.flat().filter((check) => {
    const text = JSON.stringify(check);
    const isNew = !texts.has(text);
    texts.add(text);
    return isNew;
  });
}
