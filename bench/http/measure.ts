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

/** A program, and what it is to do. */
export interface Subject {
  readonly name: string;
  readonly program: Program;
  readonly task: Task;
}

/** Runs a program (see `subject.ts`) in a process of its own, and measures that with all the processes it starts. */
export async function measure(name: string, program: Program, task: Task): Promise<Measured> {
  const [measured] = await measureInTurns([{ name, program, task }], 1, () => {});
  if (measured === undefined) throw new Error(`${name} was not measured`);
  return measured;
}

/**
 * Runs several programs, each in a process of its own, and lets them work in turns: one at a time, each on a part of its
 * items, every second turn in reverse order. The speed of a machine that others use changes within seconds, and so
 * it changes for all of them.
 */
export async function measureInTurns(
  subjects: readonly Subject[],
  turns: number,
  say: (line: string) => void,
): Promise<Measured[]> {
  const running: Running[] = [];
  try {
    for (const subject of subjects) {
      say(`${subject.name} …`);
      running.push(await startSubject(subject));
    }
    for (let turn = 0; turn < turns; turn += 1) {
      if (turns > 1) say(`turn ${turn + 1} of ${turns}`);
      for (const each of turn % 2 === 0 ? running : running.toReversed()) await takeTurn(each, turn, turns);
    }
    return running.map(({ name, task, child, seconds, cpu }) => ({
      name,
      pages_per_second: rounded(task.items / seconds),
      cpu_s_per_1000: rounded((cpu * 1000) / task.items),
      rss_mb: peakMbOf(child.pid ?? 0),
    }));
  } finally {
    for (const { child } of running) await end(child);
  }
}

interface Running extends Subject {
  readonly child: ChildProcess;
  seconds: number;
  cpu: number;
}

async function startSubject({ name, program, task }: Subject): Promise<Running> {
  const command = [...(program.under ?? []), process.execPath, ...program.flags, program.file, JSON.stringify(task)];
  const child = spawn(command[0] ?? '', command.slice(1), {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    cwd: task.folder,
  });
  try {
    await told(child, name, 'warm');
  } catch (error) {
    await end(child);
    throw error;
  }
  return { name, program, task, child, seconds: 0, cpu: 0 };
}

async function takeTurn(subject: Running, turn: number, turns: number): Promise<void> {
  const { name, task, child } = subject;
  const upTo = (count: number) => Math.round((task.items * count) / turns);
  const cpuBefore = cpuSecondsOf(child.pid ?? 0);
  const begun = performance.now();
  child.send(upTo(turn + 1) - upTo(turn));
  await told(child, name, 'done');
  subject.seconds += (performance.now() - begun) / 1000;
  subject.cpu += cpuSecondsOf(child.pid ?? 0) - cpuBefore;
}

/** Programs that have children end them when they see that we are gone. */
async function end(child: ChildProcess): Promise<void> {
  if (child.connected) child.disconnect();
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
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
