import { type ChildProcess, spawn } from 'node:child_process';
import type { Socket } from 'node:net';

/**
 * The pipe at 3 ends when the process that started this does, also by `kill -9`; then what it started is killed. The shell
 * becomes the program, so that it has the id of the child.
 */
const TIED = '(read -r _; kill -9 $$) <&3 >/dev/null 2>&1 & exec "$@" 3<&-';

export interface TiedOptions {
  readonly stdout: 'pipe' | 'ignore';
  readonly env?: NodeJS.ProcessEnv;
  /** In a process group of its own. */
  readonly detached?: boolean;
}

/**
 * Starts a program that does not outlive this process. `node --test` kills its test files when it is interrupted: what
 * they have started would stay behind. The pipe does not keep this process alive.
 */
export function spawnTied(command: string, args: readonly string[], { stdout, ...options }: TiedOptions): ChildProcess {
  const child = spawn('sh', ['-c', TIED, 'sh', command, ...args], {
    ...options,
    stdio: ['ignore', stdout, 'pipe', 'pipe'],
  });
  const lifeline = child.stdio[3] as Socket;
  lifeline.unref();
  child.once('exit', () => lifeline.destroy());
  return child;
}
