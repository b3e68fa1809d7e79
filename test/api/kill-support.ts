import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdirSync, statSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import type { ItemPageAnswer } from '../../src/contract/item-answers.ts';
import type { JobStatusAnswer } from '../../src/contract/job-answers.ts';
import { startTrawl } from '../cli/trawl.ts';

/** A real process on a data directory, which is killed at the end and leaves the directory to the next one. */
export async function startVictim(command: 'controller' | 'serve', dataDir: string, faults = '') {
  const env = { TRAWL_LOG_TO: 'stderr', TRAWL_FAULTS: faults };
  const child = startTrawl([command, '--port', '0', '--data-dir', dataDir], env);
  const [, url = ''] = await child.shows(/"url":"(http:[^"]+)"/);
  return {
    url,
    ended: child.ended,
    async kill() {
      child.signalGroup('SIGKILL');
      await child.ended;
    },
  };
}

/** Sends the first bytes of a request and leaves the rest; `answered` is null when the connection breaks first. */
export async function sendBytes(url: string, path: string, type: string, body: Buffer, first = body.length) {
  const { port, host } = new URL(url);
  const socket = connect({ host: '127.0.0.1', port: Number(port) });
  const answered = once(socket, 'data')
    .then(([data]) => Number(/^HTTP\/1\.1 (\d+)/.exec(String(data))?.[1]))
    .catch(() => null);
  // A socket that closes silently emits none of the events awaited above.
  const closed = once(socket, 'close').then(
    () => null,
    () => null,
  );
  const head = `POST ${path} HTTP/1.1\r\nhost: ${host}\r\ncontent-type: ${type}\r\ncontent-length: ${body.length}\r\n\r\n`;
  await new Promise<void>((resolve) => {
    socket.once('close', () => resolve());
    socket.write(Buffer.concat([Buffer.from(head), body.subarray(0, first)]), () => resolve());
  });
  return { answered: Promise.race([answered, closed]), hangUp: () => socket.destroy() };
}

/** The ids of a job's items in their order; null when there is no such job. Its counts must agree with them. */
export async function itemIdsOf(url: string, jobId: string): Promise<string[] | null> {
  const status = await fetch(`${url}/jobs/${jobId}/status`);
  if (status.status === 404) return null;
  const { summary } = (await status.json()) as JobStatusAnswer;
  const ids: string[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const more: string = cursor === '' ? '' : `&cursor=${cursor}`;
    const page = (await (await fetch(`${url}/jobs/${jobId}/items?limit=1000${more}`)).json()) as ItemPageAnswer;
    ids.push(...page.items.map(({ item_id: id }) => id));
    cursor = page.next_cursor;
  }
  assert.equal(ids.length, summary.total, 'the counts and the list agree');
  return ids;
}

/** The current size of the ledger's log in bytes. */
export function logBytes(dataDir: string): number {
  const logs = readdirSync(dataDir).filter((name) => name.endsWith('-wal'));
  return logs.reduce((sum, name) => sum + statSync(join(dataDir, name)).size, 0);
}

/** Resolves in the middle of a write: when the log has grown this large, or once the request is answered after all. */
export async function whenLogHas(dataDir: string, bytes: number, answered: Promise<unknown>): Promise<void> {
  let isAnswered = false;
  void answered.then(() => {
    isAnswered = true;
  });
  while (!isAnswered && logBytes(dataDir) < bytes) await turn();
}
