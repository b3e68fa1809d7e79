import { readdirSync, readFileSync } from 'node:fs';

/** Whether a process runs. One that has ended and whose parent has not looked at it yet does not. */
export function isRunning(pid: number): boolean {
  try {
    // The state comes after the name, which is in brackets and may contain brackets.
    return !/^.*\) [ZX]/s.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

/** Ids of running processes whose command line has this text in it. */
export function processesWith(text: string): readonly number[] {
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => Number.isInteger(pid) && pid !== process.pid && isRunning(pid) && commandLine(pid).includes(text));
}

function commandLine(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}
