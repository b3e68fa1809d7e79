import { hash } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, rmSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { errorCode } from '../../domain/error-code.ts';
import type { Clock } from '../../ports/clock.ts';

const LOOK_AGAIN_MS = 200;

/**
 * Waits until no other process of this machine holds the lock, and returns how to release it. The lock is a socket that
 * the holder listens on: the kernel releases it when the process dies, for whatever reason. Null if `waitMs` was not
 * enough.
 */
export async function takeInstallLock(
  cacheDir: string,
  { clock, waitMs, onWait }: { clock: Clock; waitMs: number; onWait: () => void },
): Promise<(() => Promise<void>) | null> {
  const giveUpAt = clock.elapsed() + waitMs;
  let hasWaited = false;
  for (;;) {
    const server = await listen(address(cacheDir));
    if (server !== null) return () => release(server);
    if (clock.elapsed() >= giveUpAt) return null;
    if (!hasWaited) onWait();
    hasWaited = true;
    await clock.sleep(LOOK_AGAIN_MS);
  }
}

/** Linux has socket names that are not files, and so cannot be left behind. */
function address(cacheDir: string): string {
  if (process.platform === 'linux') return `\0trawl-chromium-${hash('sha256', cacheDir).slice(0, 16)}`;
  mkdirSync(cacheDir, { recursive: true });
  return join(cacheDir, 'install.lock');
}

async function listen(path: string): Promise<Server | null> {
  const server = createServer((socket) => socket.destroy());
  try {
    server.listen(path);
    await once(server, 'listening');
    server.unref();
    return server;
  } catch (error) {
    if (errorCode(error) !== 'EADDRINUSE') throw error;
    if (!path.startsWith('\0') && !(await answers(path))) rmSync(path, { force: true });
    return null;
  }
}

async function answers(path: string): Promise<boolean> {
  const socket = connect(path);
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

async function release(server: Server): Promise<void> {
  server.close();
  await once(server, 'close');
}
