import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { hasDisplay } from '../../config.ts';

/** All pages of one command are written to the same file, so that a browser can reload it. */
export class PageFile {
  #path: string | null = null;
  #isOpened = false;

  /** Returns its path. The byte order mark makes every browser read it as UTF-8, whatever its `<meta>` says. */
  async write(text: string): Promise<string> {
    // Readable only by this user: pages contain names and addresses.
    this.#path ??= join(await mkdtemp(join(tmpdir(), 'trawl-try-')), 'page.html');
    await writeFile(this.#path, `\uFEFF${text}`, { mode: 0o600 });
    return this.#path;
  }

  /** Opens it in a browser, once. Returns whether there is one. */
  async open(): Promise<boolean> {
    if (this.#isOpened || this.#path === null) return this.#isOpened;
    this.#isOpened = hasDisplay() && (await startBrowser(this.#path));
    return this.#isOpened;
  }
}

const OPENERS: Readonly<Record<string, readonly string[]>> = {
  darwin: ['open'],
  win32: ['cmd', '/c', 'start', ''],
};

async function startBrowser(path: string): Promise<boolean> {
  const [command = '', ...args] = OPENERS[process.platform] ?? ['xdg-open'];
  const browser = spawn(command, [...args, path], { stdio: 'ignore', detached: true });
  browser.unref();
  try {
    await once(browser, 'spawn');
    return true;
  } catch {
    return false;
  }
}
