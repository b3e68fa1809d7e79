import { runHeartbeat } from '../wiring.ts';

/** The entry of the heartbeat's thread: see `startHeartbeatThread`. */
await runHeartbeat();
