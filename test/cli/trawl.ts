import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { fileURLToPath } from 'node:url';
import { spawnTied } from '../support/spawn-tied.ts';

const BIN = fileURLToPath(new URL('../../bin/trawl', import.meta.url));

/** One worker process, and compiled sources kept as bin/trawl keeps them: starting is most of what these tests cost. */
export const CHEAP = {
  TRAWL_WORKERS: '1',
  NODE_COMPILE_CACHE: fileURLToPath(new URL('../../node_modules/.cache/trawl', import.meta.url)),
  NO_COLOR: '1',
};

/** A folder of its own, removed when the test file is done. */
export function tempFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'trawl-cli-'));
  after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export interface Ended {
  readonly code: number | null;
  readonly signal: string | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** `trawl` as a shell starts it: in a process group of its own, which a Ctrl-C reaches as a whole. */
export function startTrawl(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const child = spawnTied(BIN, args, {
    stdout: 'pipe',
    detached: true,
    env: { ...process.env, ...CHEAP, ...env },
  });
  const written = { stdout: '', stderr: '' };
  const waiting = new Set<() => void>();
  for (const name of ['stdout', 'stderr'] as const) {
    child[name]?.on('data', (chunk: Buffer) => {
      written[name] += chunk.toString();
      for (const look of waiting) look();
    });
  }
  const signalGroup = (signal: NodeJS.Signals) => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, signal);
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
    }
  };
  after(() => signalGroup('SIGKILL'));
  const ended = once(child, 'close').then(([code, signal]): Ended => ({ code, signal, ...written }));
  return {
    ended,
    signalGroup,
    /** Resolves when stderr has shown this; rejects if the process ends without it. */
    shows(pattern: RegExp): Promise<RegExpExecArray> {
      const { promise, resolve, reject } = Promise.withResolvers<RegExpExecArray>();
      const look = () => {
        const match = pattern.exec(written.stderr);
        if (match) resolve(match);
      };
      waiting.add(look);
      look();
      void ended.then(({ code, stderr }) => reject(new Error(`ended with ${code} and without ${pattern}:\n${stderr}`)));
      return promise.finally(() => waiting.delete(look));
    },
  };
}

export function trawl(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ended> {
  return startTrawl(args, env).ended;
}

/** A file of items in a folder of the test; answers its path. */
export function writeLines(folder: string, name: string, lines: readonly (string | object)[]): string {
  const path = join(folder, name);
  writeFileSync(path, `${lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n')}\n`);
  return path;
}
