import type { Command } from 'commander';
import { loadConfig } from '../config.ts';
import { installChromium } from '../main/chromium.ts';

export function addBrowserCommand(program: Command): void {
  program
    .command('browser')
    .description('the Chromium of browser scrapers')
    .command('install')
    .description('find a Chromium that works, or install one, and print its path')
    .addHelpText(
      'after',
      "\nTried in this order: TRAWL_CHROMIUM; what was found the last time; what is installed; Debian's package (as root);\nPlaywright's installer; npm's @sparticuz/chromium. HTTP scrapers need no browser.\n\nExit codes: 0 there is one, 3 there is none.\n\nExample:\n  $ trawl browser install",
    )
    .action(install);
}

async function install(): Promise<void> {
  const { path, version } = await installChromium(loadConfig(), (line) => process.stderr.write(`${line}\n`));
  process.stderr.write(`Chromium ${version}\n`);
  process.stdout.write(`${path}\n`);
}
