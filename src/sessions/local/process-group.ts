import { readdirSync, readFileSync } from 'node:fs';
import { errorCode } from '../../domain/error-code.ts';

/** Playwright starts each browser in its own process group, so that the group is its whole process tree. */

/** Ids of its processes, that of the group first. Without /proc only that one. */
export function groupMembers(group: number): readonly number[] {
  try {
    const members = readdirSync('/proc')
      .map(Number)
      .filter((pid) => Number.isInteger(pid) && isMember(pid, group));
    return members.sort((a, b) => Number(b === group) - Number(a === group) || a - b);
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error;
    return isAlive(group) ? [group] : [];
  }
}

/** Processes that have ended and wait for their parent to notice do not count. */
function isMember(pid: number, group: number): boolean {
  const [state, , ofGroup] = statOf(pid);
  return ofGroup === String(group) && state !== 'Z' && state !== 'X';
}

/** State, parent, group … of a process. The name before them is in brackets, and may have brackets and spaces in it. */
export function statOf(pid: number): readonly string[] {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  } catch {
    return [];
  }
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return errorCode(error) === 'EPERM';
  }
}

/** SIGKILL, which also ends stopped processes. A group that is already gone is fine. */
export function killGroup(group: number): void {
  try {
    process.kill(-group, 'SIGKILL');
  } catch (error) {
    if (errorCode(error) !== 'ESRCH' && errorCode(error) !== 'EPERM') throw error;
  }
}

const KIB = 1024;

/** Memory of processes, with shared memory counted once. Null if the system does not report it. */
export function memoryBytes(pids: readonly number[]): number | null {
  const each = pids.map(ownMemory).filter((bytes) => bytes !== null);
  return each.length === 0 ? null : each.reduce((sum, bytes) => sum + bytes, 0);
}

function ownMemory(pid: number): number | null {
  try {
    const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'latin1');
    const shared = /^Pss:\s+(\d+) kB/m.exec(text)?.[1];
    return shared === undefined ? null : Number(shared) * KIB;
  } catch {
    return null;
  }
}
