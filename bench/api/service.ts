import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { memoryOf } from '../memory.ts';

const BIN = fileURLToPath(new URL('../../bin/trawl', import.meta.url));

/** `trawl serve` as a user starts it, on a port of its own. */
export async function startServe(
  dataDir: string,
  options: { workers: number; slots: number; env?: Readonly<Record<string, string>> },
) {
  const child = spawn(BIN, ['serve', '--port', '0', '--data-dir', dataDir, '--workers', String(options.workers)], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...options.env, TRAWL_SLOTS: String(options.slots), TRAWL_HOST: '127.0.0.1' },
  });
  const { promise, resolve, reject } = Promise.withResolvers<{ url: string; pid: number }>();
  const errors: string[] = [];
  const lines = createInterface({ input: child.stdout });
  lines.on('line', (line) => {
    const entry = JSON.parse(line) as { msg?: string; url?: string; pid?: number; level: number };
    if (entry.msg === 'trawl is serving') resolve({ url: entry.url ?? '', pid: entry.pid ?? 0 });
    if (entry.level >= 50) errors.push(line);
  });
  const ended = new Promise<void>((done) => child.once('close', () => done()));
  void ended.then(() => reject(new Error('trawl serve ended')));
  const { url, pid } = await promise;
  return {
    url,
    /** Process id of the controller itself: bin/trawl only starts it. */
    pid,
    /** Lines of its log that report an error. */
    errors: errors as readonly string[],
    ended,
    rssMb: () => memoryOf(pid)?.nowMb ?? 0,
    async stop() {
      child.kill('SIGTERM');
      await ended;
    },
  };
}
