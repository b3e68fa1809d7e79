import { type ChildProcess, spawn } from 'node:child_process';
import { setPriority } from 'node:os';
import type { Clock } from '../ports/clock.ts';

export interface PoolParts {
  readonly count: number;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
}

export type PoolChange =
  | { readonly kind: 'spawned'; readonly index: number; readonly pid: number }
  /** It works, and this is its name as a worker. */
  | { readonly kind: 'ready'; readonly index: number; readonly pid: number; readonly worker: string }
  | {
      readonly kind: 'died';
      readonly index: number;
      readonly pid: number | null;
      /** Null if it did not come so far as to work. */
      readonly worker: string | null;
      readonly code: number | null;
      readonly signal: string | null;
      /** Why it could not be started, if it could not. */
      readonly error: string | null;
      /** Because the pool stops, and all of them are told to end. */
      readonly wasAsked: boolean;
    };

export interface WorkerPool {
  onChange(listener: (change: PoolChange) => void): void;
  /** Of those that live now. */
  pids(): readonly number[];
  /** Asks all to end, kills those that have not after `graceMs`, and resolves when the last has ended. */
  stop(graceMs: number): Promise<void>;
}

/**
 * Worker processes: as many as `count` for as long as it runs. One that dies is replaced: at once if it had come so far
 * as to work (`tellParentReady`), or the first time; then after a pause that grows while its successors die too, because
 * a worker that cannot start would otherwise fill log and CPU. They have a channel to this process, by which they notice that it is gone (`onParentGone`).
 */
export function startWorkerPool(parts: PoolParts): WorkerPool {
  const { count, command, args, env, clock } = parts;
  const children = new Set<ChildProcess>();
  const listeners: ((change: PoolChange) => void)[] = [];
  const stopping = new AbortController();
  const ended = Promise.all(Array.from({ length: count }, (_, index) => keepOneAlive(index)));

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

  async function keepOneAlive(index: number): Promise<void> {
    let deaths = 0;
    while (!stopping.signal.aborted) {
      const { wasReady } = await runOne(index);
      deaths = wasReady ? 1 : deaths + 1;
      const delayMs = restartDelayMs(deaths);
      if (delayMs > 0) await clock.sleep(delayMs, stopping.signal);
    }
  }

  async function runOne(index: number): Promise<{ wasReady: boolean }> {
    const child = spawn(command, args, { env, stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
    children.add(child);
    const { promise, resolve } =
      Promise.withResolvers<Pick<Extract<PoolChange, { kind: 'died' }>, 'pid' | 'code' | 'signal' | 'error'>>();
    const pid = child.pid ?? null;
    if (pid !== null) letOthersGoFirst(pid);
    child.once('spawn', () => pid !== null && tell({ kind: 'spawned', index, pid }));
    child.once('exit', (code, signal) => resolve({ pid, code, signal, error: null }));
    // Also comes when a signal or a message could not be sent; only a child that never was has no exit.
    child.on('error', ({ message }) => pid === null && resolve({ pid, code: null, signal: null, error: message }));
    let worker: string | null = null;
    child.once('message', (name) => {
      worker = String(name);
      if (pid !== null) tell({ kind: 'ready', index, pid, worker });
    });
    const death = await promise;
    children.delete(child);
    tell({ kind: 'died', index, ...death, worker, wasAsked: stopping.signal.aborted });
    return { wasReady: worker !== null };
  }

  function tell(change: PoolChange): void {
    for (const listener of listeners) listener(change);
  }
}

/** On the scale of `nice`. */
const LESS_URGENT = 5;

/**
 * Workers take what CPU they can get. The controller has little to do at a time, but all of them wait for it, and so do
 * the users of the API.
 */
function letOthersGoFirst(pid: number): void {
  try {
    setPriority(pid, LESS_URGENT);
  } catch {
    // It ended already, or the system has no priorities: it is a nicety.
  }
}

/** None after the first death, then 0.1 s, 0.2 s … 5 s. */
export function restartDelayMs(deaths: number): number {
  return deaths <= 1 ? 0 : Math.min(5000, 100 * 2 ** (deaths - 2));
}
