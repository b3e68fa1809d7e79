import { connectToOwner } from '../../src/adapters/embedded/socket/socket-client.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { roomFor } from '../support/room.ts';

/** A worker process that takes what it can get and never gets anything done. */
const [socketPath = '', workerId = ''] = process.argv.slice(2);
const { signal } = new AbortController();
const owner = await connectToOwner({ socketPath, workerId, role: 'main', clock: new FakeClock(), signal });
await owner.leases.begin('it is there', 1);
for (;;) await owner.source.take('http', roomFor(10), 60_000, signal);
