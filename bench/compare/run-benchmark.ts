import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { cpuSecondsOfEnded } from '../process-tree.ts';
import { type Figures, figuresOf } from './ratios.ts';

/** What a benchmark printed, or why it printed nothing. */
export type Run = { readonly figures: Figures } | { readonly failed: string };

/**
 * Runs `bench/main.ts` of a checkout, which may be older than any option of ours, and adds the CPU time of all its
 * processes. It has a process group of its own: Ctrl-C must end it together with its workers, and not before we know.
 */
export async function runBenchmark(
  folder: string,
  args: readonly string[],
  { temporary, stop }: { readonly temporary: string; readonly stop: AbortSignal },
): Promise<Run> {
  const before = cpuSecondsOfEnded();
  const child = spawn(process.execPath, [...FLAGS, join('bench', 'main.ts'), ...args, '--json'], {
    cwd: folder,
    // As `bin/trawl` of all commits runs it: without compiled sources, the compiler's memory would be most of the difference.
    env: { ...process.env, TMPDIR: temporary, NODE_COMPILE_CACHE: join(folder, '.compiled') },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  const endAll = () => {
    try {
      process.kill(-(child.pid ?? 0), 'SIGKILL');
    } catch {
      // It has ended by itself.
    }
  };
  stop.addEventListener('abort', endAll, { once: true });
  const [printed, said, code] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    new Promise<number | null>((resolve, reject) => child.once('close', resolve).once('error', reject)),
  ]);
  stop.removeEventListener('abort', endAll);
  stop.throwIfAborted();
  const result = parsed(printed);
  // A benchmark that missed a target says so by its exit code, and has figures all the same.
  if (result === null) return { failed: said.trim().split('\n')[0] ?? `exit code ${code}` };
  return { figures: { ...figuresOf(result), cpu_seconds: cpuSecondsOfEnded() - before } };
}

/** As in the script `bench` of package.json. */
const FLAGS = ['--max-semi-space-size=8'];

async function text(stream: AsyncIterable<Buffer>): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of stream) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

function parsed(printed: string): unknown {
  try {
    return JSON.parse(printed);
  } catch {
    return null;
  }
}
