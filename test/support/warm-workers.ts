import childProcess, { type ChildProcess, type SpawnOptions } from 'node:child_process';
import { EventEmitter } from 'node:events';
import { syncBuiltinESMExports } from 'node:module';
import { fileURLToPath } from 'node:url';
import { sized } from './sized.ts';
import type { Ended, Order } from './worker-host.ts';

/**
 * For a process that starts many workers of the lane `http` one after another, such as a test file: once this is imported, they are
 * lives of a few processes that stay (`worker-host.ts`). Starting a worker and loading its sources takes longer than what most
 * tests let it do. Everything else is as usual: a worker has a process apart from its engine's, with its id, which
 * may be killed and is gone then. The slow run starts each worker as the product does.
 */
const WORKER = fileURLToPath(new URL('../../src/main/worker-child.ts', import.meta.url));
const HOST = fileURLToPath(new URL('worker-host.ts', import.meta.url));

// A constant and not an import, because an import would refer to the replacement.
const spawnAnew = childProcess.spawn;

/** Idle processes, by their flags. */
const idle = new Map<string, ChildProcess[]>();

const spawnWarm = (command: string, args: readonly string[], options: SpawnOptions): ChildProcess => {
  const at = args.indexOf(WORKER);
  if (at === -1 || args[at + 1] !== 'http') return spawnAnew(command, args, options);
  const flags = args.slice(0, at);
  const kind = flags.join(' ');
  const host = takeIdle(kind) ?? spawnAnew(command, [...flags, HOST], options);
  const order: Order = { args: args.slice(at + 1), env: { ...options.env }, cwd: process.cwd() };
  // Nothing that the product does with a worker process is missing, and more is not needed.
  return new Life(host, order, () => idle.set(kind, [...(idle.get(kind) ?? []), host])) as unknown as ChildProcess;
};

function takeIdle(kind: string): ChildProcess | null {
  const left = idle.get(kind)?.filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null) ?? [];
  const host = left.pop() ?? null;
  idle.set(kind, left);
  return host;
}

if (sized({ quick: true, slow: false })) {
  Object.assign(childProcess, { spawn: spawnWarm });
  syncBuiltinESMExports();
}

/** One worker, as the process that it would be. */
class Life extends EventEmitter {
  readonly #host: ChildProcess;

  constructor(host: ChildProcess, order: Order, onIdle: () => void) {
    super();
    this.#host = host;
    host.ref();
    host.channel?.ref();
    const hear = (message: string | Ended) => {
      if (typeof message === 'string') {
        this.emit('message', message);
        return;
      }
      forget();
      // An idle process must not keep a finished test alive.
      host.unref();
      host.channel?.unref();
      onIdle();
      this.emit('exit', message.code, null);
    };
    const exit = (code: number | null, signal: string | null) => {
      forget();
      this.emit('exit', code, signal);
    };
    const fail = (error: Error) => this.emit('error', error);
    const forget = () => void host.off('message', hear).off('exit', exit).off('error', fail);
    host.on('message', hear).on('exit', exit).on('error', fail);
    if (host.pid !== undefined) process.nextTick(() => this.emit('spawn'));
    host.send(order, () => {});
  }

  get pid(): number | undefined {
    return this.#host.pid;
  }

  kill(signal: NodeJS.Signals): boolean {
    return this.#host.kill(signal);
  }
}
