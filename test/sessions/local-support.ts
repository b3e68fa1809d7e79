import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { systemClock } from '../../src/adapters/system/clock.ts';
import type { BrowserOptions } from '../../src/ports/browser-provider.ts';
import { LocalProvider } from '../../src/sessions/local/local-provider.ts';
import { testChromium } from '../support/chromium.ts';

export const OPTIONS: BrowserOptions = {
  headless: true,
  slowMs: 0,
  openMs: 60_000,
  args: [],
  proxy: null,
  metadata: {},
};

/** A limit that guards against hanging. */
export const patience = () => AbortSignal.timeout(120_000);

/** A provider of real browsers, in a folder of its own; both are removed with the test file. */
export async function localProvider(path?: string) {
  const clock = systemClock();
  const temporaryDir = mkdtempSync(join(tmpdir(), 'trawl-sessions-'));
  const found = await testChromium();
  const provider = new LocalProvider({
    ...{ clock, temporaryDir },
    chromium: async () => ({ ...found, path: path ?? found.path }),
  });
  after(async () => {
    await provider.close();
    rmSync(temporaryDir, { recursive: true });
  });
  return { provider, clock, temporaryDir, files: () => readdirSync(temporaryDir) };
}
