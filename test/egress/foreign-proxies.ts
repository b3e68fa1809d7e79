import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { debianProgram } from '../support/debian-program.ts';
import { spawnTied } from '../support/spawn-tied.ts';
import { untilTrue } from '../support/until.ts';

/** Proxies written by others, with a password: what we believe about the protocols must hold beyond our own model. */
export const USER = 'ann';
export const SECRET = 'Tr0ub4dor-3';

/** Debian's tinyproxy: CONNECT and whole URLs. */
export async function startTinyproxy(t: TestContext): Promise<number> {
  const program = await debianProgram('tinyproxy', 'tinyproxy-bin');
  const folder = mkdtempSync(join(tmpdir(), 'tinyproxy-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'tinyproxy.conf');
  return startOnFreePort(t, program, (port) => {
    const lines = [`Port ${port}`, 'Listen 127.0.0.1', 'Timeout 60', 'Allow 127.0.0.1', `BasicAuth ${USER} ${SECRET}`];
    writeFileSync(file, `${lines.join('\n')}\n`);
    return ['-d', '-c', file];
  });
}

/** Debian's microsocks: SOCKS5. */
export async function startMicrosocks(t: TestContext): Promise<number> {
  const program = await debianProgram('microsocks');
  return startOnFreePort(t, program, (port) => ['-i', '127.0.0.1', '-p', `${port}`, '-u', USER, '-P', SECRET]);
}

/** Neither of them can choose a port itself. Another process may take the one that was free: then it is another's turn. */
async function startOnFreePort(
  t: TestContext,
  program: string,
  argumentsFor: (port: number) => readonly string[],
): Promise<number> {
  for (;;) {
    const port = await freePort();
    const child = spawnTied(program, argumentsFor(port), { stdout: 'ignore' });
    let hasEnded = false;
    child.once('exit', () => {
      hasEnded = true;
    });
    child.stderr?.resume();
    t.after(() => child.kill('SIGKILL'));
    await untilTrue(async () => hasEnded || (await isListening(port)));
    if (!hasEnded) return port;
  }
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' }, () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
