import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { testChromium } from '../support/chromium.ts';
import { spawnTied } from '../support/spawn-tied.ts';

/** A Chromium run by another party, with CDP on a port of this machine. */
export interface RemoteChromium {
  readonly pid: number;
  readonly port: number;
  /** Path of the WebSocket of the whole browser. */
  readonly path: string;
  stop(): Promise<void>;
}

export async function startRemoteChromium(): Promise<RemoteChromium> {
  const { path: program } = await testChromium();
  const profile = mkdtempSync(join(tmpdir(), 'trawl-remote-'));
  const flags = ['--headless', '--no-sandbox', '--remote-debugging-port=0', '--no-first-run', '--disable-gpu'];
  const child = spawnTied(program, [...flags, `--user-data-dir=${profile}`, 'about:blank'], {
    ...{ stdout: 'ignore', detached: true },
  });
  const ended = once(child, 'exit');
  for await (const line of createInterface({ input: child.stderr as Readable })) {
    const [, port, path] = /listening on ws:\/\/[^:]+:(\d+)(\S+)/.exec(line) ?? [];
    if (port === undefined || path === undefined) continue;
    child.stderr?.resume();
    return {
      ...{ pid: child.pid ?? 0, port: Number(port), path },
      async stop() {
        if (child.exitCode === null && child.signalCode === null && child.pid !== undefined) {
          process.kill(-child.pid, 'SIGKILL');
          await ended;
        }
        rmSync(profile, { recursive: true, force: true, maxRetries: 10 });
      },
    };
  }
  throw new Error('Chromium ended before it listened');
}
