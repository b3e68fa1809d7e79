import { openFileResultStore } from '../../src/adapters/embedded/result-store.ts';
import { FakeClock } from '../support/fake-clock.ts';

/** Stores without end, until it is killed; says so when it is well under way. */
const store = await openFileResultStore(process.argv[2] ?? '', { clock: new FakeClock() });
await Promise.all(Array.from({ length: 8 }, (_, writer) => writeOn(writer)));

async function writeOn(writer: number): Promise<void> {
  for (let count = 0; ; count += 1) {
    const body = new Uint8Array(200_000).fill(count);
    const encoding = count % 2 ? 'gzip' : 'identity';
    await store.put(`job/w${writer}-${count}.bin`, body, { contentType: 'x', encoding, ifTaken: 'keep' });
    if (count === 20) process.stdout.write('under way\n');
  }
}
