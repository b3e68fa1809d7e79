import { loadConfig } from '../../src/config.ts';
import { installChromium } from '../../src/main/chromium.ts';
import type { Chromium } from '../../src/sessions/chromium/prove-chromium.ts';

/**
 * The Chromium of this machine, for tests that need one. The first of them that runs on a machine without any installs it;
 * others wait for it. It is the one that commands and workers find by themselves, too.
 */
export function testChromium(): Promise<Chromium> {
  return installChromium(loadConfig(), (line) => {
    // The installers' own output would fill the report of the tests.
    if (!line.startsWith(' ')) process.stderr.write(`${line}\n`);
  });
}
