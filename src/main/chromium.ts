import { systemClock } from '../adapters/system/clock.ts';
import type { Config } from '../config.ts';
import type { ChromiumDeps } from '../sessions/chromium/find-chromium.ts';
import type { Chromium } from '../sessions/chromium/prove-chromium.ts';
import { type Check, ok, problem } from './check.ts';

type ChromiumConfig = Pick<Config, 'chromium' | 'cacheDir'>;

/** The Chromium of this machine, installed if there is none. */
export async function installChromium(config: ChromiumConfig, onProgress: (line: string) => void): Promise<Chromium> {
  // Loaded on demand, like everything that brings Playwright along.
  const { ensureChromium } = await import('../sessions/chromium/ensure-chromium.ts');
  return ensureChromium({ ...chromiumDeps(config), onProgress });
}

/** The Chromium of this machine, if a working one exists. Nothing is installed. */
export async function existingChromium(config: ChromiumConfig): Promise<Chromium | null> {
  const { findChromium } = await import('../sessions/chromium/find-chromium.ts');
  return (await findChromium(chromiumDeps(config))).found;
}

/** Only browser scrapers need one, so its absence is a problem only for them. */
export async function checkChromium(config: ChromiumConfig & Pick<Config, 'browserWorkers'>): Promise<Check> {
  const { findChromium, showFailed } = await import('../sessions/chromium/find-chromium.ts');
  const { found, failed } = await findChromium(chromiumDeps(config));
  const name = 'Browser';
  if (found !== null) return ok(name, `Chromium ${found.version}: ${found.path}`);
  const message = failed.length === 0 ? 'no Chromium was found' : showFailed(failed);
  if (config.chromium !== '') return problem(name, message, 'correct or unset TRAWL_CHROMIUM');
  if (config.browserWorkers > 0) return problem(name, message, 'run trawl browser install');
  return ok(name, `${message}; only browser scrapers need one: trawl browser install`);
}

export function chromiumDeps({ chromium, cacheDir }: ChromiumConfig): ChromiumDeps {
  return { chosenPath: chromium, cacheDir, clock: systemClock() };
}
