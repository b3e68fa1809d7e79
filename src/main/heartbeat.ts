import { systemClock } from '../adapters/system/clock.ts';
import type { Config } from '../config.ts';
import { runHeartbeatThread } from '../worker/heartbeat-thread.ts';
import { loadBackend } from './backends.ts';

/** What the heartbeat thread needs in order to connect like its worker; it is copied to the thread. */
export interface HeartbeatStart {
  readonly config: Config;
  readonly workerId: string;
}

/** The entry of the heartbeat thread of a worker process: see `startHeartbeatThread`. */
const clock = systemClock();
await runHeartbeatThread(clock, async (given, signal) => {
  const { config, workerId } = given as HeartbeatStart;
  const backend = await loadBackend(config);
  return await backend.connectHeartbeat(config, { workerId, clock, signal });
});
