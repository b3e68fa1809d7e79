import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { hasDisplay } from '../../config.ts';

/** For the pages of one command, which are all written to the same file: a browser can reload it. */
export class PageFile {
  #path: string | null = null;
  #isOpened = false;

  /** Answers its path. The mark at the beginning makes it UTF-8 for every browser, whatever its `<meta>` says. */
  async write(text: string): Promise<string> {
    // Readable by this user alone: pages have names and addresses in them.
    this.#path ??= join(await mkdtemp(join(tmpdir(), 'trawl-try-')), 'page.html');
    await writeFile(this.#path, `\uFEFF${text}`, { mode: 0o600 });
    return this.#path;
  }

  /** Shows it in a browser, once. Answers whether there is one. */
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
