import { Socket } from 'node:net';

/**
 * What `bin/trawl` starts where its own Node cannot be replaced by the pinned one: the command, in a process that ends
 * with its launcher. The launcher holds the other end of descriptor 3 and writes nothing; the pipe ends when it dies.
 */
const LIFELINE_FD = 3;

const lifeline = new Socket({ fd: LIFELINE_FD, readable: true, writable: false });
// Killed like the launcher: a graceful stop would keep the data directory for seconds, and block the next start.
lifeline.on('close', () => process.kill(process.pid, 'SIGKILL'));
lifeline.on('error', () => {});
lifeline.resume();
// A command that has nothing left to do can end.
lifeline.unref();

await import('./main.ts');
