import { openFileResultStore } from '../../src/adapters/embedded/result-store.ts';
import { FakeClock } from '../support/fake-clock.ts';

/** Stores without end, until it is killed; says so when it is well under way. */
const [root = '', how] = process.argv.slice(2);
const store = await openFileResultStore(root, { clock: new FakeClock() });
const putNext = how === 'together' ? putItem : putFile;
await Promise.all(Array.from({ length: 8 }, (_, writer) => writeOn(writer)));

async function writeOn(writer: number): Promise<void> {
  for (let count = 0; ; count += 1) {
    await putNext(`w${writer}-${count}`, count);
    if (count === 20) process.stdout.write('under way\n');
  }
}

async function putFile(name: string, count: number): Promise<void> {
  const encoding = count % 2 ? 'gzip' : 'identity';
  await store.put(`job/${name}.bin`, bodyOf(count), { contentType: 'x', encoding, ifTaken: 'keep' });
}

async function putItem(name: string, count: number): Promise<void> {
  const how = { contentType: 'x', ifTaken: 'keep' as const };
  await store.putAll([
    { ...how, key: `job/items/${name}/html.html`, body: bodyOf(count), encoding: 'gzip' },
    { ...how, key: `job/items/${name}/data.json`, body: bodyOf(count), encoding: 'identity' },
    { ...how, key: `job/items/${name}/document.bin`, body: bodyOf(count), encoding: 'identity' },
  ]);
}

function bodyOf(count: number): Uint8Array {
  return new Uint8Array(200_000).fill(count);
}
