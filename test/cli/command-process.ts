import '../support/warm-workers.ts';

/**
 * One process that carries out commands of `trawl` one after another, as its parent orders them: `src/cli/main.ts` is
 * evaluated for each, and everything it imports is loaded once. A command sees its own arguments, environment, folder
 * and exit code, and writes to buffers.
 */
export interface Order {
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
}

export interface Carried {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Thrown where a process would have ended, so that the command does not continue. */
class Ended extends Error {}

let commands = 0;

async function carryOut({ args, env, cwd }: Order): Promise<Carried> {
  process.argv = [process.execPath, 'trawl', ...args];
  process.env = env;
  process.chdir(cwd);
  process.exitCode = undefined;
  let exitedWith: number | null = null;
  process.exit = (code) => {
    exitedWith ??= Number(code ?? process.exitCode ?? 0);
    throw new Ended();
  };
  const isOver = () => exitedWith !== null;
  const stdout = capture(process.stdout, isOver);
  const stderr = capture(process.stderr, isOver);
  commands += 1;
  // A different address makes it a different module: it runs again.
  await import(`../../src/cli/main.ts?command=${commands}`);
  const code = exitedWith ?? Number(process.exitCode ?? 0);
  for (const stream of [process.stdout, process.stderr]) stream.removeAllListeners('error');
  for (const event of ['SIGINT', 'SIGTERM', 'unhandledRejection']) process.removeAllListeners(event);
  return { code, stdout: stdout(), stderr: stderr() };
}

/** Returns a function that returns what was written. */
function capture(stream: NodeJS.WriteStream, isOver: () => boolean): () => string {
  const chunks: Buffer[] = [];
  const write = (chunk: string | Uint8Array, ...rest: readonly unknown[]): boolean => {
    if (!isOver()) chunks.push(Buffer.from(chunk as string));
    for (const called of rest) if (typeof called === 'function') callAndEnd(called as () => void);
    return true;
  };
  stream.write = write as typeof stream.write;
  return () => Buffer.concat(chunks).toString();
}

function callAndEnd(call: () => void): void {
  try {
    call();
  } catch (error) {
    if (!(error instanceof Ended)) throw error;
  }
}

process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'));
process.on('message', (order: Order) => void carryOut(order).then((carried) => process.send?.(carried)));
