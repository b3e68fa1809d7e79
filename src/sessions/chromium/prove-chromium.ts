import { existsSync } from 'node:fs';
import { stripVTControlCharacters } from 'node:util';
import { chromium } from 'playwright-core';
import { errorMessage } from '../../domain/error-message.ts';
import type { Clock } from '../../ports/clock.ts';
import { within } from '../../ports/within.ts';

/** A Chromium that was tested here. */
export interface Chromium {
  /**
   * The real binary, never one of the wrappers in /usr/bin: those read the user's settings and may start another one.
   */
  readonly path: string;
  readonly version: string;
  /** Whether it works inside its own sandbox. It never does for root, and in few containers. */
  readonly sandbox: boolean;
}

export type Proof =
  | { readonly works: true; readonly chromium: Chromium }
  | { readonly works: false; readonly why: string };

/** A start takes 0.1 s when the machine is idle. */
const PROOF_MS = 30_000;

/**
 * Starts the browser and runs a script in a page: a binary may exist but lack a library, or crash with the first page.
 */
export async function proveChromium(path: string, clock: Clock): Promise<Proof> {
  // Playwright would leave a profile behind.
  if (!existsSync(path)) return { works: false, why: 'there is no such file' };
  let why = '';
  for (const sandbox of process.getuid?.() === 0 ? [false] : [true, false]) {
    const answer = await within(
      clock,
      PROOF_MS,
      tryToStart(path, sandbox),
      () => `no answer within ${PROOF_MS / 1000} s`,
    );
    if (typeof answer !== 'string') return { works: true, chromium: answer };
    why = answer;
  }
  return { works: false, why };
}

async function tryToStart(path: string, chromiumSandbox: boolean): Promise<Chromium | string> {
  try {
    const browser = await chromium.launch({
      ...{ executablePath: path, chromiumSandbox, timeout: PROOF_MS },
      ...{ handleSIGHUP: false, handleSIGINT: false, handleSIGTERM: false },
    });
    try {
      const page = await browser.newPage();
      if ((await page.evaluate('6 * 7')) !== 42) return 'it does not run scripts';
      return { path, version: browser.version(), sandbox: chromiumSandbox };
    } finally {
      await browser.close();
    }
  } catch (error) {
    return firstReason(errorMessage(error));
  }
}

/**
 * Playwright's message contains the whole command line and log. The most useful part is what the program itself said
 * last.
 */
function firstReason(message: string): string {
  const lines = stripVTControlCharacters(message)
    .split('\n')
    .map((line) => line.replace(/^\s*-?\s*/, ''));
  const said = lines.findLast((line) => /\[err\]/.test(line))?.replace(/^.*\[err\]\s*/, '');
  return said ?? (lines[0] ?? message).replace(/^browserType\.launch: /, '');
}
