import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { fileURLToPath } from 'node:url';
import { spawnTied } from '../support/spawn-tied.ts';
import type { Carried, Order } from './command-process.ts';

export const BIN = fileURLToPath(new URL('../../bin/trawl', import.meta.url));

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
    /** The id of its process group. */
    group: child.pid ?? 0,
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

const COMMAND_PROCESS = new URL('command-process.ts', import.meta.url);

let commandProcess: ChildProcess | null = null;
let lastCommand: Promise<unknown> = Promise.resolve();
// It must not end where it is started: that would be the end of the test that happens to be the first.
after(() => commandProcess?.kill('SIGKILL'));

/**
 * The same command line without a process of its own: all of a test file's share one, one after another, which saves
 * starting Node and loading the sources for each. `trawl run` has its service there, and starts workers as usual.
 * Signals, pipes and commands that are to be killed need `trawl`.
 */
export function command(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  cwd: string = process.cwd(),
): Promise<Carried> {
  const carried = lastCommand.then(() => carryOut({ args, env: { ...process.env, ...CHEAP, ...env }, cwd }));
  lastCommand = carried.catch(() => {});
  return carried;
}

async function carryOut(order: Order): Promise<Carried> {
  commandProcess ??= startCommandProcess();
  const child = commandProcess;
  const { promise, resolve, reject } = Promise.withResolvers<Carried>();
  // This is the log of a service that runs there, and what Node says about a process that fails.
  const said: Buffer[] = [];
  const listen = (chunk: Buffer) => said.push(chunk);
  const fail = (code: number | null) =>
    reject(new Error(`the process ended with ${code} in trawl ${order.args.join(' ')}\n${Buffer.concat(said)}`));
  child.stderr?.on('data', listen);
  child.once('message', resolve).once('exit', fail);
  child.send(order);
  return await promise.finally(() => {
    child.off('message', resolve).off('exit', fail);
    child.stderr?.off('data', listen);
  });
}

function startCommandProcess(): ChildProcess {
  const env = { ...process.env, ...CHEAP };
  return fork(COMMAND_PROCESS, { execArgv: [], env, stdio: ['ignore', 'ignore', 'pipe', 'ipc'] });
}

/** Writes a file of items in a folder of the test; returns its path. */
export function writeLines(folder: string, name: string, lines: readonly (string | object)[]): string {
  const path = join(folder, name);
  writeFileSync(path, `${lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n')}\n`);
  return path;
}
