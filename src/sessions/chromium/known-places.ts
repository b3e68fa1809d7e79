import { readdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { chromium } from 'playwright-core';

/**
 * Where packages put the real binaries, on Debian and its relatives, Alpine, Fedora and a Mac. The headless shell comes
 * first: it needs a third for a page.
 */
const INSTALLED = [
  '/usr/lib/chromium/chromium-headless-shell',
  '/usr/lib/chromium/chromium',
  '/usr/lib64/chromium-browser/headless_shell',
  '/usr/lib64/chromium-browser/chromium-browser',
  '/opt/google/chrome/chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
];

/** Files that may be a Chromium, in the order in which they are worth a try. */
export function installedChromiums(): readonly string[] {
  return [...playwrightBrowsers(), ...INSTALLED].filter(isFile);
}

/** What Playwright's installer left, of any version: its shells, then whole browsers; newer ones first. */
function playwrightBrowsers(): readonly string[] {
  // <folder>/chromium-1255/chrome-linux64/chrome, also where PLAYWRIGHT_BROWSERS_PATH says so.
  const folder = dirname(dirname(dirname(chromium.executablePath())));
  const versions = namesIn(folder).sort((a, b) => b.localeCompare(a, 'en', { numeric: true }));
  const inside = (prefix: string, file: RegExp) =>
    versions
      .filter((name) => name.startsWith(prefix))
      .flatMap((name) => namesIn(join(folder, name)).map((platform) => join(folder, name, platform)))
      .flatMap((place) =>
        namesIn(place)
          .filter((name) => file.test(name))
          .map((name) => join(place, name)),
      );
  return [
    ...inside('chromium_headless_shell-', /^(?:chrome-headless-shell|headless_shell)$/),
    ...inside('chromium-', /^chrome$/),
  ];
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}

/** It is quicker, and has no windows. */
export function isHeadlessShell(path: string): boolean {
  return /headless[-_]shell$|sparticuz/.test(path);
}
