import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Clock } from '../../ports/clock.ts';
import { within } from '../../ports/within.ts';

export type ProgramEnd = { readonly ok: true; readonly output: string } | { readonly ok: false; readonly why: string };

interface ProgramOptions {
  readonly clock: Clock;
  /** After this it is killed, with everything that it started. */
  readonly deadlineMs: number;
  readonly onLine: (line: string) => void;
}

/** Its last output explains most failures. */
const KEPT_LINES = 5;

/** Runs a program to its end. It gets no input, so that it cannot ask questions. Never rejects. */
export async function runProgram(
  command: string,
  args: readonly string[],
  { clock, deadlineMs, onLine }: ProgramOptions,
): Promise<ProgramEnd> {
  // Its own process group, so that all of it can be killed.
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  const said: string[] = [];
  const output: string[] = [];
  const note = (line: string) => {
    // Stack traces of an installer tell the user nothing.
    if (line.trim() === '' || /^\s*at /.test(line)) return;
    said.push(line.trim());
    if (said.length > KEPT_LINES) said.shift();
    onLine(line.trim());
  };
  createInterface({ input: child.stdout }).on('line', (line) => {
    output.push(line);
    note(line);
  });
  createInterface({ input: child.stderr }).on('line', note);
  const { promise: ended, resolve } = Promise.withResolvers<string | null>();
  child.once('error', ({ message }) => resolve(message));
  child.once('close', (code, signal) => resolve(code === 0 ? null : `it ended with ${signal ?? code}`));
  const why = await within(clock, deadlineMs, ended, () => `it took longer than ${deadlineMs / 1000} s`);
  if (why === null) return { ok: true, output: output.join('\n') };
  if (child.exitCode === null && child.pid !== undefined) killGroup(child.pid);
  return { ok: false, why: [why, ...said].join(': ') };
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // It has just ended.
  }
}
