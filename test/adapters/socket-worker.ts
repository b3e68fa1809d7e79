import { connectToOwner } from '../../src/adapters/embedded/socket/socket-client.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { roomFor } from '../support/room.ts';

/** A worker process that claims whatever it receives and never gets anything done. */
const [socketPath = '', workerId = ''] = process.argv.slice(2);
const { signal } = new AbortController();
const owner = await connectToOwner({ socketPath, workerId, role: 'main', clock: new FakeClock(), signal });
await owner.leases.claim([], workerId, 1, 1);
for (;;) {
  const deliveries = await owner.queue.receive('http', roomFor(10), 60_000, signal);
  await owner.leases.claim(
    deliveries.map(({ ref }) => ref),
    workerId,
    1,
    1,
  );
}
