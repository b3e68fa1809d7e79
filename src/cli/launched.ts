import { Socket } from 'node:net';

/**
 * Entry point that `bin/trawl` starts if it cannot replace its own Node process with the pinned version: the command,
 * in a process that ends with its launcher. The launcher holds the other end of descriptor 3 and writes nothing; the
 * pipe ends when it dies.
 */
const LIFELINE_FD = 3;

const lifeline = new Socket({ fd: LIFELINE_FD, readable: true, writable: false });
// Killed like the launcher: a graceful stop would hold the data directory for seconds and block the next start.
lifeline.on('close', () => process.kill(process.pid, 'SIGKILL'));
lifeline.on('error', () => {});
lifeline.resume();
// Does not keep a command alive that has nothing left to do.
lifeline.unref();

await import('./main.ts');
