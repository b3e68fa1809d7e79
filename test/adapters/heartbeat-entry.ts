import { connectToOwner } from '../../src/adapters/embedded/socket/socket-client.ts';
import { systemClock } from '../../src/adapters/system/clock.ts';
import { runHeartbeatThread } from '../../src/worker/heartbeat-thread.ts';

const clock = systemClock();
await runHeartbeatThread(clock, (connectWith, signal) => {
  const { socketPath, workerId } = connectWith as { socketPath: string; workerId: string };
  return connectToOwner({ socketPath, workerId, role: 'heartbeat', clock, signal });
});
