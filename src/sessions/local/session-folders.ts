import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isOwnerGone, readOwner, showOwner, thisProcess } from '../owner.ts';

const GUARDIAN = fileURLToPath(new URL('./guardian.sh', import.meta.url));
const PREFIX = 'trawl-browsers-';

/**
 * Folders of the browsers of this process, and a guardian that removes them, with the browsers, when this process is
 * gone, even by kill -9: a small shell that reads from a pipe whose other end this process has. It has its own process
 * group, so that signals to ours do not reach it.
 */
export class SessionFolders {
  readonly #temporaryDir: string;
  #root: string | null = null;
  #guardian: ChildProcess | null = null;
  #count = 0;

  constructor(temporaryDir: string) {
    this.#temporaryDir = temporaryDir;
  }

  /** A new folder for a session. Whatever happens to this process from now on, it will be removed. */
  async make(): Promise<string> {
    this.#root ??= makeRoot(this.#temporaryDir);
    // It is replaced if something ended it.
    if (this.#guardian === null || this.#guardian.exitCode !== null || this.#guardian.signalCode !== null) {
      this.#guardian = startGuardian(this.#root, 'pipe');
    }
    this.#count += 1;
    const folder = join(this.#root, String(this.#count));
    await mkdir(folder);
    return folder;
  }

  /** When all sessions are closed. */
  async close(): Promise<void> {
    const [guardian, root] = [this.#guardian, this.#root];
    this.#guardian = null;
    this.#root = null;
    if (guardian === null || root === null) return;
    guardian.ref();
    guardian.stdin?.end();
    if (guardian.exitCode === null && guardian.signalCode === null) await once(guardian, 'exit');
    await rm(root, { recursive: true, force: true });
  }

  /** Ends what dead processes have left, if their guardians were killed as well. Returns how many sessions. */
  async sweep(): Promise<number> {
    const left = leftBehind(this.#temporaryDir);
    let count = 0;
    for (const root of left) {
      count += readdirSync(root, { withFileTypes: true }).filter((each) => each.isDirectory()).length;
      await once(startGuardian(root, 'ignore'), 'exit');
    }
    return count;
  }
}

function makeRoot(temporaryDir: string): string {
  const root = mkdtempSync(join(temporaryDir, PREFIX));
  writeFileSync(join(root, OWNER), showOwner(thisProcess()));
  return root;
}

/** With `ignore` it has no input, and begins to clean up at once. */
function startGuardian(root: string, stdin: 'pipe' | 'ignore'): ChildProcess {
  const guardian = spawn('sh', [GUARDIAN, root], { detached: true, cwd: '/', stdio: [stdin, 'ignore', 'ignore'] });
  // It must not keep this process alive: the guardian waits for its end.
  if (stdin === 'pipe') {
    guardian.unref();
    (guardian.stdin as Socket | null)?.unref();
    guardian.stdin?.on('error', () => {});
  }
  guardian.on('error', () => {});
  return guardian;
}

const OWNER = 'owner';

function leftBehind(temporaryDir: string): readonly string[] {
  return readdirSync(temporaryDir)
    .filter((name) => name.startsWith(PREFIX))
    .map((name) => join(temporaryDir, name))
    .filter((root) => isOurs(root) && isAbandoned(root));
}

function isOurs(root: string): boolean {
  return statSync(root, { throwIfNoEntry: false })?.uid === process.getuid?.();
}

function isAbandoned(root: string): boolean {
  try {
    return isOwnerGone(readOwner(readFileSync(join(root, OWNER), 'utf8')));
  } catch {
    // It has just been created, or is just being removed.
    return false;
  }
}
