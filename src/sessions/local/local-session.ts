import { readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import type { BrowserSession } from '../../ports/browser-provider.ts';
import type { Clock } from '../../ports/clock.ts';
import { within } from '../../ports/within.ts';
import { answersWithin } from '../answers-within.ts';
import { groupMembers, killGroup, memoryBytes } from './process-group.ts';

/** A healthy browser closes in 0.1 s. */
const CLOSE_MS = 3000;
/** After SIGKILL the system needs a moment. Waiting for a process that hangs in the kernel is useless. */
const KILLED_MS = 5000;
const LOOK_EVERY_MS = 10;

/** Reads what `start-chromium` notes: the process group of the browser. Null if it did not get that far. */
function readPid(folder: string): number | null {
  return Number(readNote(folder, 'pid')) || null;
}

/** Ends the processes of a session and removes its files, within our own deadline. */
export async function endLocally(folder: string, clock: Clock): Promise<void> {
  const pid = readPid(folder);
  const profile = readNote(folder, 'profile');
  if (pid !== null) {
    killGroup(pid);
    const giveUpAt = clock.elapsed() + KILLED_MS;
    while (groupMembers(pid).length > 0 && clock.elapsed() < giveUpAt) await clock.sleep(LOOK_EVERY_MS);
  }
  // Playwright removes it, too, if it sees the end of the process.
  if (profile !== '') await remove(profile);
  await remove(folder);
}

/** What cannot be removed now is left to the guardian. */
async function remove(path: string): Promise<void> {
  await rm(path, { recursive: true, force: true, maxRetries: 5 }).catch(() => {});
}

function readNote(folder: string, name: 'pid' | 'profile'): string {
  try {
    return readFileSync(join(folder, name), 'utf8').trim();
  } catch {
    return '';
  }
}

/** A Chromium that this process has started. */
export class LocalSession implements BrowserSession {
  readonly provider = 'local';
  readonly contexts = 'own';
  readonly id: string;
  readonly browser: Browser;
  readonly gone: AbortSignal;
  readonly #folder: string;
  readonly #pid: number | null;
  readonly #clock: Clock;
  readonly #gone = new AbortController();
  #closed: Promise<void> | null = null;
  #ended: Promise<void> | null = null;

  constructor(id: string, browser: Browser, folder: string, clock: Clock) {
    this.id = id;
    this.browser = browser;
    this.gone = this.#gone.signal;
    this.#folder = folder;
    this.#pid = readPid(folder);
    this.#clock = clock;
    // A crashed browser leaves files, and perhaps processes.
    browser.once('disconnected', () => void this.kill());
    if (!browser.isConnected()) void this.kill();
  }

  pids(): readonly number[] {
    return this.#pid === null || this.#gone.signal.aborted ? [] : groupMembers(this.#pid);
  }

  memoryBytes(): number | null {
    return memoryBytes(this.pids());
  }

  isHealthy(ms: number): Promise<boolean> {
    return answersWithin(this.browser, ms, this.#clock);
  }

  close(): Promise<void> {
    this.#closed ??= this.#askAndEnd();
    return this.#closed;
  }

  kill(): Promise<void> {
    if (!this.#gone.signal.aborted) this.#gone.abort(new Error(`the browser of session ${this.id} has ended`));
    this.#ended ??= endLocally(this.#folder, this.#clock);
    return this.#ended;
  }

  async #askAndEnd(): Promise<void> {
    // It may have ended on its own, or end by `kill` meanwhile.
    const asked = this.browser.close().catch(() => {});
    await within(this.#clock, CLOSE_MS, asked, () => {});
    await this.kill();
  }
}
