/**
 * A process that is a worker again and again, as its parent orders it (`warm-workers.ts`): `src/main/worker-child.ts` is evaluated
 * for each life, and everything it imports is loaded once. A life has its own arguments, environment and folder.
 */
export interface Order {
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
}

/** Sent to the parent when a life is over. */
export interface Ended {
  readonly code: number;
}

/** What a worker listens to. A process of its own would take these along. */
const HEARD = ['SIGINT', 'SIGTERM', 'unhandledRejection', 'disconnect'];

let lives = 0;
listen();

async function live({ args, env, cwd }: Order): Promise<void> {
  process.argv = [process.execPath, 'worker', ...args];
  process.env = env;
  process.chdir(cwd);
  process.exitCode = undefined;
  lives += 1;
  // A different address makes it a different module: it runs again.
  await import(`../../src/main/worker-child.ts?life=${lives}`);
  const ended: Ended = { code: Number(process.exitCode ?? 0) };
  for (const event of HEARD) process.removeAllListeners(event);
  process.removeAllListeners('message');
  listen();
  process.send?.(ended);
}

function listen(): void {
  process.once('message', (order: Order) => void live(order));
  process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'));
  // A worker that does not listen yet is ended by this signal, and so is its host; after its end it would hear nothing.
  process.on('SIGTERM', () => {
    if (process.listenerCount('message') === 0 && process.listenerCount('SIGTERM') === 1)
      process.kill(process.pid, 'SIGKILL');
  });
  process.channel?.ref();
}
