import { readlinkSync } from 'node:fs';
import { isAlive, statOf } from './local/process-group.ts';

/**
 * The process that opened a session. Its number alone does not identify it: others get the same one later, and
 * processes in other containers may have it now.
 */
interface Owner {
  readonly pid: number;
  /** When it started, by the system's count. */
  readonly start: string;
  /** Which processes can see each other. */
  readonly namespace: string;
}

export function thisProcess(): Owner {
  return { pid: process.pid, start: startOf(process.pid), namespace: ownNamespace() };
}

export function showOwner({ pid, start, namespace }: Owner): string {
  return [pid, start, namespace].join(' ');
}

export function readOwner(text: string): Owner {
  const [pid, start = '', namespace = ''] = text.split(' ');
  return { pid: Number(pid), start, namespace };
}

/** False if unknown. */
export function isOwnerGone({ pid, start, namespace }: Owner): boolean {
  if (!Number.isInteger(pid) || pid <= 0 || namespace !== ownNamespace()) return false;
  return !isAlive(pid) || startOf(pid) !== start;
}

/** Where in its line a process has the time of its start: the twentieth after the name. */
const START_FIELD = 19;

function startOf(pid: number): string {
  return statOf(pid)[START_FIELD] ?? '';
}

function ownNamespace(): string {
  try {
    return readlinkSync('/proc/self/ns/pid');
  } catch {
    return '';
  }
}
