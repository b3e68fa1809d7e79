import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpuSecondsOf, peakMbOf } from '../process-tree.ts';
import type { Task } from './subject.ts';

export interface Measured {
  readonly name: string;
  readonly pages_per_second: number;
  readonly cpu_s_per_1000: number;
  readonly rss_mb: number;
}

export interface Program {
  readonly file: string;
  readonly flags: readonly string[];
  /** A command that runs the program, as the first of its processes. */
  readonly under?: readonly string[];
}

/** Runs a program (see `subject.ts`) in a process of its own, and measures that with all the processes it starts. */
export async function measure(name: string, program: Program, task: Task): Promise<Measured> {
  const command = [...(program.under ?? []), process.execPath, ...program.flags, program.file, JSON.stringify(task)];
  const child = spawn(command[0] ?? '', command.slice(1), {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    cwd: task.folder,
  });
  const pid = child.pid ?? 0;
  try {
    await told(child, name, 'warm');
    const cpuBefore = cpuSecondsOf(pid);
    const begun = performance.now();
    child.send('go');
    await told(child, name, 'done');
    const seconds = (performance.now() - begun) / 1000;
    const cpu = cpuSecondsOf(pid) - cpuBefore;
    return {
      name,
      pages_per_second: rounded(task.items / seconds),
      cpu_s_per_1000: rounded((cpu * 1000) / task.items),
      rss_mb: peakMbOf(pid),
    };
  } finally {
    // Those that have children end them when they see that we are gone.
    if (child.connected) child.disconnect();
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  }
}

async function told(child: ChildProcess, name: string, expected: string): Promise<void> {
  const ended = new AbortController();
  const message = once(child, 'message', { signal: ended.signal });
  const exit = once(child, 'exit', { signal: ended.signal }).then(() => {
    throw new Error(`${name} ended before it was ${expected}; its output is above`);
  });
  try {
    await Promise.race([message, exit]);
  } finally {
    ended.abort();
    await Promise.allSettled([message, exit]);
  }
}

function rounded(number: number): number {
  return Math.round(number * 100) / 100;
}
