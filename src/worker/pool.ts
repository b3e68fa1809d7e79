import { type ChildProcess, spawn } from 'node:child_process';
import { setPriority } from 'node:os';
import { backoffMs } from '../domain/backoff.ts';
import type { Lane } from '../domain/lane.ts';
import type { Clock } from '../ports/clock.ts';

interface PoolDeps {
  readonly processes: readonly PoolProcess[];
  readonly command: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
}

export interface PoolProcess {
  readonly lane: Lane;
  readonly args: readonly string[];
}

/** `index` identifies the process. One that replaces another has the same index. */
export type PoolChange = { readonly index: number; readonly lane: Lane } & ProcessChange;

type ProcessChange =
  | { readonly kind: 'spawned'; readonly pid: number }
  /** It works, and this is its name as a worker. */
  | { readonly kind: 'ready'; readonly pid: number; readonly worker: string }
  | {
      readonly kind: 'died';
      readonly pid: number | null;
      /** Null if it ended before it could work. */
      readonly worker: string | null;
      readonly code: number | null;
      readonly signal: string | null;
      /** Why it could not be started, if so. */
      readonly error: string | null;
      /** Whether it ended because the pool is stopping. */
      readonly wasAsked: boolean;
    };

export interface WorkerPool {
  onChange(listener: (change: PoolChange) => void): void;
  /** The ids of the processes that are alive. */
  pids(): readonly number[];
  /** Asks all to end, kills those that have not after `graceMs`, and resolves when the last has ended. */
  stop(graceMs: number): Promise<void>;
}

/**
 * Keeps worker processes running. One that dies is replaced: at once if it had begun to work (`tellParentReady`), or
 * the first time; otherwise after a pause that grows while its successors die too, because a worker that cannot start
 * would fill the log and use the CPU. They have a channel to this process, by which they notice that it is gone
 * (`onParentGone`).
 */
export function startWorkerPool({ processes, command, env, clock }: PoolDeps): WorkerPool {
  const children = new Set<ChildProcess>();
  const listeners: ((change: PoolChange) => void)[] = [];
  const stopping = new AbortController();
  const ended = Promise.all(processes.map(keepAlive));

  return {
    onChange: (listener) => void listeners.push(listener),
    pids: () => [...children].map(({ pid }) => pid).filter((pid) => pid !== undefined),
    async stop(graceMs) {
      stopping.abort();
      for (const child of children) child.kill('SIGTERM');
      const allEnded = new AbortController();
      void clock.sleep(graceMs, allEnded.signal).then(() => {
        for (const child of children) child.kill('SIGKILL');
      });
      await ended;
      allEnded.abort();
    },
  };

  async function keepAlive(wanted: PoolProcess, index: number): Promise<void> {
    let deaths = 0;
    while (!stopping.signal.aborted) {
      const { wasReady } = await runOnce(wanted, index);
      deaths = wasReady ? 1 : deaths + 1;
      const delayMs = restartDelayMs(deaths);
      if (delayMs > 0) await clock.sleep(delayMs, stopping.signal);
    }
  }

  async function runOnce({ lane, args }: PoolProcess, index: number): Promise<{ wasReady: boolean }> {
    const tell = (change: ProcessChange) => {
      for (const listener of listeners) listener({ index, lane, ...change });
    };
    const child = spawn(command, args, { env, stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
    children.add(child);
    const { promise, resolve } =
      Promise.withResolvers<Pick<Extract<ProcessChange, { kind: 'died' }>, 'pid' | 'code' | 'signal' | 'error'>>();
    const pid = child.pid ?? null;
    if (pid !== null) letOthersGoFirst(pid);
    child.once('spawn', () => pid !== null && tell({ kind: 'spawned', pid }));
    child.once('exit', (code, signal) => resolve({ pid, code, signal, error: null }));
    // This event also occurs when a signal or a message could not be sent; only a child that never started has no exit.
    child.on('error', ({ message }) => pid === null && resolve({ pid, code: null, signal: null, error: message }));
    let worker: string | null = null;
    child.once('message', (name) => {
      worker = String(name);
      if (pid !== null) tell({ kind: 'ready', pid, worker });
    });
    const death = await promise;
    children.delete(child);
    tell({ kind: 'died', ...death, worker, wasAsked: stopping.signal.aborted });
    return { wasReady: worker !== null };
  }
}

/** On the scale of `nice`. */
const LESS_URGENT = 5;

/**
 * Workers use as much CPU as they can get. The controller does little at a time, but all of them wait for it, and so do
 * the users of the API.
 */
function letOthersGoFirst(pid: number): void {
  try {
    setPriority(pid, LESS_URGENT);
  } catch {
    // It has already ended, or the system has no priorities, which are optional.
  }
}

/** None after the first death, then 0.1 s, 0.2 s … 5 s. */
export function restartDelayMs(deaths: number): number {
  return deaths <= 1 ? 0 : backoffMs(deaths - 2, 100, 5000);
}
