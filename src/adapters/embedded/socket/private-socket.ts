import { once } from 'node:events';
import { chmodSync, lstatSync, mkdirSync, unlinkSync } from 'node:fs';
import { createConnection, type Server } from 'node:net';
import { dirname } from 'node:path';
import { errorCode } from '../../../domain/error-code.ts';

/**
 * Makes a server listen on a socket that only this user may open. The caller must already own the data directory: a
 * socket that does not answer is assumed to be left over from a dead owner, and is replaced.
 */
export async function listenPrivately(server: Server, path: string): Promise<void> {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  try {
    await listenOnce(server, path);
  } catch (error) {
    if (errorCode(error) !== 'EADDRINUSE') throw error;
    await removeLeftOver(path);
    await listenOnce(server, path);
  }
}

async function listenOnce(server: Server, path: string): Promise<void> {
  const listening = once(server, 'listening');
  // The socket is made by `listen` itself, before it returns, and must never be open to others.
  const before = process.umask(0o177);
  try {
    server.listen(path);
  } finally {
    process.umask(before);
  }
  await listening;
  chmodSync(path, 0o600);
}

async function removeLeftOver(path: string): Promise<void> {
  if (!lstatSync(path).isSocket()) throw new Error(`${path} is in the way, and is not a socket`);
  if (await isAnswered(path)) throw new Error(`another process listens on ${path}`);
  unlinkSync(path);
}

/** Only a refusal means that there is no owner; one that is too busy to answer is still an owner. */
function isAnswered(path: string): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = createConnection(path);
  socket.once('connect', () => resolve(true));
  socket.once('error', (error) => resolve(errorCode(error) !== 'ECONNREFUSED' && errorCode(error) !== 'ENOENT'));
  return promise.finally(() => socket.destroy());
}
