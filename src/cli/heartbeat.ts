import { runHeartbeat } from '../wiring-worker.ts';

/** The entry of the heartbeat's thread: see `startHeartbeatThread`. */
await runHeartbeat();
