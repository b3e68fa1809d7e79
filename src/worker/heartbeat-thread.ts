import { writeSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import type { Clock } from '../ports/clock.ts';
import {
  type BeatDeps,
  beatOnce,
  beatUntilStopped,
  type FromThread,
  lookEveryMs,
  type ThreadData,
} from './heartbeat.ts';
import { LeaseTable } from './lease-table.ts';
import { FRESH_WATCH, watch } from './watchdog.ts';

/** How the thread reaches ledger and queue; `closed` resolves when the connection is lost. */
export interface HeartbeatConnection extends Pick<BeatDeps, 'leases' | 'queue'> {
  readonly closed: Promise<unknown>;
  close(): Promise<void>;
}

/** Called only by the thread's entry module. Ends when the main thread asks it to. */
export async function runHeartbeatThread(
  clock: Clock,
  connect: (connectWith: unknown, signal: AbortSignal) => Promise<HeartbeatConnection>,
): Promise<void> {
  if (parentPort === null) throw new Error('the heartbeat runs in a thread of its own');
  const port = parentPort;
  const { table: buffer, leaseMs, hangLimitMs, connectWith } = workerData as ThreadData;
  const table = new LeaseTable(buffer);
  const stop = new AbortController();
  const link: { connection: HeartbeatConnection | null; connecting: Promise<HeartbeatConnection> | null } = {
    connection: null,
    connecting: null,
  };
  const beats = {
    async beat() {
      const held = table.read();
      // Connecting means loading a backend, which a worker with a small job does not need.
      if (held.length === 0) return [];
      return beatOnce(held, { ...(await connected()), clock, leaseMs });
    },
    ...{ clock, leaseMs },
    onLost: (lost: readonly string[]) => port.postMessage({ lost } satisfies FromThread),
    onTrouble: (error: unknown) => port.postMessage({ trouble: String(error) } satisfies FromThread),
    onSilence: hangUp,
  };
  port.on('message', () => stop.abort());
  await Promise.all([beatUntilStopped(beats, stop.signal), watchUntilStopped()]);
  await link.connecting?.catch(() => {});
  await link.connection?.close();
  port.close();

  /** One connection at a time, although a beat does not wait for the previous one. */
  function connected(): Promise<HeartbeatConnection> {
    if (link.connection !== null) return Promise.resolve(link.connection);
    link.connecting ??= connectNow().finally(() => {
      link.connecting = null;
    });
    return link.connecting;
  }

  async function connectNow(): Promise<HeartbeatConnection> {
    const made = await connect(connectWith, stop.signal);
    link.connection = made;
    void made.closed.then(() => {
      if (link.connection === made) link.connection = null;
    });
    return made;
  }

  /** Also ends the calls that wait for an answer: otherwise they would pile up. */
  function hangUp(): void {
    const silent = link.connection;
    link.connection = null;
    silent?.close().catch(beats.onTrouble);
  }

  async function watchUntilStopped(): Promise<void> {
    const everyMs = lookEveryMs(hangLimitMs);
    let state = FRESH_WATCH;
    while (!stop.signal.aborted) {
      const isHolding = table.read().length > 0;
      state = watch(state, { ticks: table.ticks, isHolding, at: clock.elapsed() }, everyMs);
      // Without an owner the leases expire, and the main thread's current work can no longer be recorded.
      const limitMs = link.connection === null ? Math.min(hangLimitMs, 2 * leaseMs) : hangLimitMs;
      if (state.silentMs >= limitMs) killProcess(state.silentMs);
      await clock.sleep(everyMs, stop.signal);
    }
  }
}

function killProcess(silentMs: number): void {
  // Not process.stderr: in a thread it goes through the main thread, which is not responding.
  writeSync(2, `trawl: worker ${process.pid} has been hanging for ${Math.round(silentMs / 1000)} s and is killed\n`);
  process.kill(process.pid, 'SIGKILL');
}
