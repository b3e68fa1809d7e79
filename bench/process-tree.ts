import { readdirSync, readFileSync } from 'node:fs';
import { memoryOf } from './memory.ts';

/** The kernel counts in hundredths of a second, on every machine that we know. */
const TICKS_PER_SECOND = 100;

/** CPU seconds of a process with its threads and all that it started, including those that have ended. */
export function cpuSecondsOf(root: number): number {
  return familyOf(root).reduce((sum, pid) => sum + (statOf(pid)?.ticks ?? 0), 0) / TICKS_PER_SECOND;
}

/** CPU seconds of a process and its threads, without the processes that it started. 0 when it is gone. */
export function cpuSecondsOfProcess(pid: number): number {
  return (statOf(pid)?.ownTicks ?? 0) / TICKS_PER_SECOND;
}

/** CPU seconds of all processes that this one started and that have ended. */
export function cpuSecondsOfEnded(): number {
  const stat = statOf(process.pid);
  return stat === null ? 0 : (stat.ticks - stat.ownTicks) / TICKS_PER_SECOND;
}

/** The highest resident memory of each of them, added up: what a machine must have. */
export function peakMbOf(root: number): number {
  return familyOf(root).reduce((sum, pid) => sum + (memoryOf(pid)?.peakMb ?? 0), 0);
}

function familyOf(root: number): number[] {
  const parents = new Map<number, number[]>();
  for (const name of readdirSync('/proc')) {
    const pid = Number(name);
    const parent = Number.isInteger(pid) ? statOf(pid)?.parent : undefined;
    if (parent !== undefined) parents.set(parent, [...(parents.get(parent) ?? []), pid]);
  }
  const family = [root];
  for (const pid of family) family.push(...(parents.get(pid) ?? []));
  return family;
}

/** Null when the process is gone. */
function statOf(pid: number): { parent: number; ticks: number; ownTicks: number } | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name in brackets may hold anything.
    const fields = text
      .slice(text.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number);
    const [parent = 0] = fields.slice(1);
    const [user = 0, system = 0, usersOfEnded = 0, systemsOfEnded = 0] = fields.slice(11, 15);
    const ownTicks = user + system;
    return { parent, ownTicks, ticks: ownTicks + usersOfEnded + systemsOfEnded };
  } catch {
    return null;
  }
}
