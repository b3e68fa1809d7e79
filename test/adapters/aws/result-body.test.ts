import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { GetObjectCommand, PutObjectCommand } from '@aws-sdk/client-s3';
import { openAwsClients } from '../../../src/adapters/aws/clients.ts';
import { openS3ResultStore, type S3ResultStore } from '../../../src/adapters/aws/result-store.ts';
import type { ByteRange } from '../../../src/domain/result-address.ts';
import { StorageTrouble } from '../../../src/ports/storage-trouble.ts';
import { bytes, KEEP, KEY, noise, same, sha256 } from '../../contract/result-store/bytes.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { inRoom, NOBODY } from './result-room.ts';

const BODY = noise(600_000);

inRoom('a range of plain bytes is the only thing that is sent, and nothing is sent before it is read', async (room) => {
  const { store, sent } = room;
  await store.put(KEY, BODY, KEEP);
  const ranges: unknown[] = [];
  room.onCall(async ({ name, input }, go) => {
    if (name === 'GetObject') ranges.push('Range' in input ? input.Range : 'all');
    await go();
  });
  sent.length = 0;
  const body = await store.open(KEY, { start: 1000, end: 400_000 });
  assert.deepEqual(sent, ['HeadObject']);
  assert.ok(body);
  assert.ok(same(Buffer.concat(await Array.fromAsync(body)), BODY.subarray(1000, 400_000)));
  await read(store, { start: 599_999, end: 9_000_000 });
  await read(store, { start: 0, end: 600_000 });
  await read(store, null);
  assert.deepEqual(ranges, ['bytes=1000-399999', 'bytes=599999-599999', 'all', 'all']);
  for (const range of [
    { start: 600_000, end: 700_000 },
    { start: 9, end: 9 },
  ]) {
    assert.equal((await read(store, range)).length, 0);
  }
  assert.equal(ranges.length, 4);
});

inRoom('a reader that stops reading closes the connection, packed or not', async (room) => {
  const { store, s3 } = room;
  const large = noise(8 << 20);
  const closed: Promise<unknown>[] = [];
  s3.middlewareStack.add(
    (next, { commandName }) =>
      async (args) => {
        const answer = await next(args);
        if (commandName === GetObjectCommand.name) closed.push(once(socketOf(answer.response), 'close'));
        return answer;
      },
    { step: 'deserialize', priority: 'low' },
  );
  for (const encoding of ['identity', 'gzip'] as const) {
    const key = `job-1/${encoding}.bin`;
    await store.put(key, large, { ...KEEP, encoding });
    const body = await store.open(key, null);
    assert.ok(body);
    for await (const piece of body) {
      assert.ok(piece.length < large.length);
      break;
    }
  }
  const packed = await store.open('job-1/gzip.bin', { start: 10, end: 20 });
  assert.ok(packed);
  assert.ok(same(Buffer.concat(await Array.fromAsync(packed)), large.subarray(10, 20)));
  assert.equal(closed.length, 3);
  await Promise.all(closed);
});

inRoom('a packed body that is damaged is an error, whole or in pieces', async ({ store, s3, bucket }) => {
  const packed = gzipSync(BODY);
  const Metadata = { sha256: sha256(BODY), size: String(BODY.length) };
  const damages = {
    short: packed.subarray(0, 400_000),
    other: bytes('not packed at all'),
    shorter: gzipSync(BODY.subarray(0, 500_000)),
    longer: gzipSync(noise(600_001)),
  };
  for (const [name, Body] of Object.entries(damages)) {
    const Key = `job-1/${name}`;
    await s3.send(new PutObjectCommand({ Bucket: bucket, Key, Body, ContentEncoding: 'gzip', Metadata }));
    await assert.rejects(store.get(Key), /are damaged/, name);
    await assert.rejects(read(store, null, Key), /are damaged/, name);
  }
  const Key = 'job-1/plain';
  await s3.send(new PutObjectCommand({ Bucket: bucket, Key, Body: noise(600_000, 2), Metadata }));
  await assert.rejects(store.get(Key), /are damaged/);
});

/** Says that it has 100,000 bytes under any key, and then does what the test wants. */
async function withServer(
  answer: (response: ServerResponse, gets: number) => void,
  body: (store: S3ResultStore, clock: FakeClock, gets: () => number) => Promise<void>,
  headers: Readonly<Record<string, string>> = {},
): Promise<void> {
  let gets = 0;
  const server = createServer((request, response) => {
    if (request.method === 'HEAD') return response.writeHead(200, { ...headers, 'Content-Length': 100_000 }).end();
    gets += 1;
    answer(response, gets);
    return undefined;
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  assert.ok(address !== null && typeof address === 'object');
  const { s3, close } = openAwsClients({ ...NOBODY, endpoints: { s3: `http://127.0.0.1:${address.port}` } });
  const clock = new FakeClock();
  try {
    await body(openS3ResultStore({ s3, bucket: 'b', clock }), clock, () => gets);
  } finally {
    close();
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  }
}

const isTrouble = (error: unknown) => error instanceof StorageTrouble && error.kind === 'io';

test('a body that the server cuts short is an error, and never a short body', async () => {
  const cuts: ((response: ServerResponse) => void)[] = [
    (response) => response.setHeader('Content-Length', 100_000).write(noise(60_000), () => response.destroy()),
    (response) => response.write(noise(60_000), () => response.destroy()),
    (response) => response.setHeader('Content-Length', 60_000).end(noise(60_000)),
    (response) => response.write(noise(60_000), () => response.end()),
    (response) => response.write(noise(100_001), () => response.end()),
  ];
  for (const cut of cuts) {
    await withServer(cut, async (store) => {
      await assert.rejects(read(store, null), isTrouble, String(cut));
    });
  }
});

test('a packed body that the server cuts short is the same error', async () => {
  const packed = gzipSync(noise(200_000)).subarray(0, 100_000);
  await withServer(
    (response) => {
      response.setHeader('Content-Encoding', 'gzip').setHeader('Content-Length', 100_000);
      response.write(packed.subarray(0, 60_000), () => response.destroy());
    },
    async (store) => {
      await assert.rejects(read(store, null), isTrouble);
      await assert.rejects(store.get(KEY), isTrouble);
    },
    { 'Content-Encoding': 'gzip' },
  );
});

test('a server that sends all when a part was asked for is an error, and nothing of it is handed on', async () => {
  await withServer(
    (response) => response.setHeader('Content-Length', 100_000).write(noise(3)),
    async (store) => {
      const body = await store.open(KEY, { start: 5, end: 10 });
      await assert.rejects(async () => await body?.[Symbol.asyncIterator]().next(), isTrouble);
    },
  );
});

test('what is read whole is asked for again, a few times, when the connection breaks', async () => {
  const body = noise(100_000);
  const breakOff = (response: ServerResponse) => response.write(body.subarray(0, 60_000), () => response.destroy());
  await withServer(
    (response, gets) => {
      response.setHeader('Content-Length', 100_000);
      if (gets < 3) breakOff(response);
      else response.end(body);
    },
    async (store) => assert.ok(same(await store.get(KEY), body)),
  );
  await withServer(
    (response) => breakOff(response.setHeader('Content-Length', 100_000)),
    async (store, _clock, gets) => {
      await assert.rejects(store.get(KEY), isTrouble);
      assert.equal(gets(), 3);
    },
  );
});

test('a server that falls silent in the middle is given up on, and a reader that takes its time is not', async () => {
  await withServer(
    (response) => response.setHeader('Content-Length', 100_000).write(noise(60_000)),
    async (store, clock) => {
      const body = await store.open(KEY, null);
      assert.ok(body);
      const pieces = body[Symbol.asyncIterator]();
      let received = 0;
      while (received < 60_000) {
        received += (await pieces.next()).value?.byteLength ?? 0;
        await clock.advance(60_000);
      }
      const more = assert.rejects(pieces.next(), /nothing came for 30 s/);
      await clock.advance(30_000);
      await more;
      assert.equal(clock.sleepers, 0);
    },
  );
});

async function read(store: S3ResultStore, range: ByteRange | null, key = KEY): Promise<Uint8Array> {
  const body = await store.open(key, range);
  assert.ok(body);
  return Buffer.concat(await Array.fromAsync(body));
}

function socketOf(response: unknown): NodeJS.EventEmitter {
  const { body } = response as { body: { socket: NodeJS.EventEmitter } };
  return body.socket;
}
