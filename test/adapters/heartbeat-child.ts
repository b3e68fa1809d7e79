import { connectToOwner } from '../../src/adapters/embedded/socket/socket-client.ts';
import { systemClock } from '../../src/adapters/system/clock.ts';
import { startHeartbeatThread } from '../../src/worker/heartbeat.ts';

/** A worker process that holds a lease and then never comes back from a computation. */
const [socketPath = '', leaseMs = '', hangLimitMs = ''] = process.argv.slice(2);
const clock = systemClock();
const owner = await connectToOwner({
  socketPath,
  workerId: 'busy',
  role: 'main',
  clock,
  signal: new AbortController().signal,
});
const heartbeat = startHeartbeatThread({
  entry: new URL('heartbeat-entry.ts', import.meta.url),
  connectWith: { socketPath, workerId: 'busy' },
  slots: 4,
  leaseMs: Number(leaseMs),
  hangLimitMs: Number(hangLimitMs),
  clock,
  onTrouble() {},
});
heartbeat.hold(2, { token: 'busy-token', receipt: 'busy-receipt' });
await owner.leases.begin('busy-token', 1);
for (;;);
