import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { test } from 'node:test';
import { brotliCompressSync, constants, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import fc from 'fast-check';
import { BodyBuffer } from '../../src/egress/body-buffer.ts';
import { type Coding, inflate, inflaters, overflow, parseCodings } from '../../src/egress/inflate.ts';
import { StreamedBody, type StreamedEnd } from '../../src/egress/streamed-body.ts';

const LIMIT = 8 << 20;
const PAGE = Buffer.from('<p>a page of some length</p>'.repeat(200));

const WAYS: readonly [coding: Coding, name: string, compress: (bytes: Buffer) => Buffer][] = [
  ['gzip', 'gzip', gzipSync],
  ['deflate', 'deflate in zlib', deflateSync],
  ['deflate', 'bare deflate', deflateRawSync],
  ['br', 'brotli', brotli],
  ['zstd', 'zstd', zstdCompressSync],
];

test('Content-Encoding is read regardless of its case and spaces', () => {
  const cases: readonly [header: string | undefined, codings: readonly Coding[]][] = [
    [undefined, []],
    ['', []],
    ['identity', []],
    ['gzip', ['gzip']],
    [' GZip ', ['gzip']],
    ['x-gzip', ['gzip']],
    ['deflate, br', ['deflate', 'br']],
    ['identity,zstd,', ['zstd']],
  ];
  for (const [header, codings] of cases)
    assert.deepEqual(parseCodings(header), { kind: 'codings', codings }, `${header}`);
});

test('an unknown encoding is the fault of the server, and a pile of encodings is too large', () => {
  const cases = [
    ['compress', 'server_error'],
    ['constructor', 'server_error'],
    ['gzip, snappy', 'server_error'],
    ['gzip, gzip, gzip', 'too_large'],
  ];
  for (const [header, type] of cases) {
    const read = parseCodings(header);
    assert.equal(read.kind === 'failed' && read.failure.type, type, `${header}`);
  }
});

for (const [coding, name, compress] of WAYS) {
  test(`${name} comes out as it went in, in one go and piece by piece`, async () => {
    const raw = compress(PAGE);
    assert.deepEqual(inflate(raw, [coding], LIMIT), { kind: 'inflated', body: PAGE });
    for (const size of [1, 100, 1 << 20]) assert.deepEqual(await streamed(raw, [coding], size), done(PAGE));
  });

  test(`${name} that ends early is not taken for a whole body`, async () => {
    const half = compress(PAGE).subarray(0, -9);
    const now = inflate(half, [coding], LIMIT);
    assert.equal(now.kind === 'failed' && now.failure.type, 'network_error');
    const end = await streamed(half, [coding], 10);
    assert.equal(end.kind === 'failed' && end.failure.type, 'network_error');
  });

  test(`${name} that grows too much is stopped where the limit is`, async () => {
    const raw = compress(Buffer.alloc(2 * LIMIT));
    const now = inflate(raw, [coding], LIMIT);
    assert.equal(
      now.kind === 'failed' ? now.failure.type : now.kind,
      raw.length * 400 > LIMIT / 2 ? 'large' : 'too_large',
    );
    let seen = 0;
    const sink = {
      write: async (chunk: Uint8Array) => {
        seen += chunk.length;
      },
    };
    const end = await streamed(raw, [coding], 1 << 20, sink);
    assert.equal(end.kind === 'failed' && end.failure.type, 'too_large');
    assert.ok(seen <= LIMIT, `${seen} bytes went to the sink`);
  });
}

test('two encodings are undone in the reverse order of their application', async () => {
  const raw = brotli(gzipSync(PAGE));
  assert.deepEqual(inflate(raw, ['gzip', 'br'], LIMIT), { kind: 'inflated', body: PAGE });
  assert.deepEqual(await streamed(raw, ['gzip', 'br'], 7), done(PAGE));
  assert.equal(inflate(raw, ['br', 'gzip'], LIMIT).kind, 'failed');
  const inner = deflateRawSync(gzipSync(PAGE));
  assert.deepEqual(await streamed(inner, ['gzip', 'deflate'], 7), done(PAGE));
});

/** A member with a name, a comment and an extra field: flags 4, 8 and 16. */
function memberWithFields(text: string): Buffer {
  const plain = gzipSync(text);
  const head = Buffer.concat([plain.subarray(0, 10), Buffer.from('\x02\x00abname\0comment\0', 'latin1')]);
  head[3] = 4 | 8 | 16;
  return Buffer.concat([head, plain.subarray(10)]);
}

test('gzip may have several members, and other bytes after the last, in one go and piece by piece', async () => {
  const members = Buffer.concat([gzipSync('one '), gzipSync(''), memberWithFields('two')]);
  for (const garbage of ['', '\0', '\0\0\0', 'x', '\x1f', '\x1f\x8b', 'garbage', '\x1f\x8b\x00 is not a member']) {
    const raw = Buffer.concat([members, Buffer.from(garbage, 'latin1')]);
    const end = inflate(raw, ['gzip'], LIMIT);
    assert.equal(end.kind === 'inflated' && Buffer.from(end.body).toString(), 'one two', JSON.stringify(garbage));
    for (const size of [1, 7, 1 << 20]) {
      assert.deepEqual(await inPieces(raw, size), Buffer.from('one two'), `${JSON.stringify(garbage)} by ${size}`);
    }
  }
});

test('gzip with other bytes after it is read at any size, up to the limit and past what fits in one go', async () => {
  // Random bytes do not shrink, so that the raw size is about this.
  for (const size of [(128 << 10) - 1, 128 << 10, (128 << 10) + 1, 1 << 20]) {
    const page = Buffer.concat([randomBytes(size), Buffer.from('the end')]);
    const [first, second] = [page.subarray(0, size / 2), page.subarray(size / 2)];
    for (const members of [gzipSync(page), Buffer.concat([gzipSync(first), gzipSync(second)])]) {
      for (const garbage of [Buffer.from('x'), Buffer.alloc(1 << 20), randomBytes(1 << 20).fill('x', 0, 1)]) {
        const raw = Buffer.concat([members, garbage]);
        for (const by of [16 << 10, raw.length]) {
          const end = await streamed(raw, ['gzip'], by);
          const isSame = end.kind === 'done' && page.equals(end.body);
          assert.ok(isSame, `${size} bytes, then ${garbage.length} others, by ${by}: ${end.kind}`);
        }
      }
    }
  }
});

test('a member that is broken or cut off is not taken for other bytes', async () => {
  const good = Buffer.concat([gzipSync('one '), gzipSync('two')]);
  const broken: readonly [name: string, raw: Buffer][] = [
    ['checksum', flipped(good, -8)],
    ['size', flipped(good, -4)],
    ['checksum of the first', flipped(good, gzipSync('one ').length - 8)],
    ['not gzip at all', Buffer.from('<p>a page</p>')],
    ['too short to be gzip', Buffer.from('x')],
    ['cut off in the tail', good.subarray(0, -1)],
    ['cut off before the tail', good.subarray(0, -8)],
    ['cut off in the data', good.subarray(0, -10)],
    ['cut off after a head', Buffer.concat([good, good.subarray(0, 10)])],
    ['cut off in a head', Buffer.concat([good, good.subarray(0, 5)])],
    ['a head without end', Buffer.concat([Buffer.from([...good.subarray(0, 3), 8]), Buffer.alloc(1 << 20, 'n')])],
  ];
  for (const [name, raw] of broken) {
    const now = inflate(raw, ['gzip'], LIMIT);
    assert.equal(now.kind === 'failed' && now.failure.type, 'network_error', name);
    for (const size of [1 + (raw.length >> 10), 1 << 20]) {
      const end = await streamed(raw, ['gzip'], size);
      assert.equal(end.kind === 'failed' && end.failure.type, 'network_error', `${name}, by ${size}`);
    }
  }
});

test('a bomb in a later member, or before a megabyte of other bytes, is stopped where the limit is', async () => {
  const bomb = gzipSync(Buffer.alloc(4 * LIMIT));
  for (const raw of [Buffer.concat([gzipSync('x'), bomb]), Buffer.concat([bomb, randomBytes(1 << 20)])]) {
    const end = await streamed(raw, ['gzip'], 16 << 10);
    assert.equal(end.kind === 'failed' && end.failure.type, 'too_large');
  }
});

test('a flood of empty members is refused: each costs time', async () => {
  const empty = gzipSync('');
  const some = Buffer.concat(Array.from({ length: 500 }, () => empty));
  assert.equal((await streamed(some, ['gzip'], 16 << 10)).kind, 'done');
  const flood = Buffer.concat(Array.from({ length: 20_000 }, () => empty));
  const end = await streamed(flood, ['gzip'], 16 << 10);
  assert.equal(end.kind === 'failed' && end.failure.type, 'too_large');
});

test('a small bomb is stopped by its ratio, a large one by the limit', () => {
  assert.equal(overflow(4 << 20, 100, LIMIT), null);
  assert.match(overflow((4 << 20) + 1, 100, LIMIT)?.message ?? '', /100 bytes of the body .* 400 times/);
  assert.equal(overflow(LIMIT, LIMIT / 400, LIMIT), null);
  assert.match(overflow(LIMIT + 1, LIMIT, LIMIT)?.message ?? '', /larger than 8388608 bytes/);
});

test('an empty body is empty, whatever its encoding says', () => {
  const empty = new Uint8Array(0);
  assert.deepEqual(inflate(empty, ['gzip'], LIMIT), { kind: 'inflated', body: empty });
});

test('zstd cannot ask for a window that is larger than the web allows', () => {
  // Magic, no content size, a window of 2^27 bytes, then a block of zeros.
  const frame = Buffer.from('28b52ffd00880300f8ff00', 'hex');
  const end = inflate(frame, ['zstd'], LIMIT);
  assert.match((end.kind === 'failed' && end.failure.cause) || '', /memory|window/i);
});

test('what a sink throws is distinguished from what the network did', async () => {
  const trouble = new Error('no room');
  const sink = { write: () => Promise.reject(trouble) };
  assert.deepEqual(await streamed(gzipSync(PAGE), ['gzip'], 10, sink), { kind: 'sink-failed', error: trouble });
});

test('a sink gets one piece at a time, and the sender waits for it', async () => {
  const pieces: number[] = [];
  const room = Promise.withResolvers<void>();
  const drained = Promise.withResolvers<void>();
  const sink = {
    write: async (chunk: Uint8Array) => {
      pieces.push(chunk.length);
      await room.promise;
    },
  };
  const body = new StreamedBody({ codings: [], limit: LIMIT, sink, onDrain: drained.resolve });
  const chunk = Buffer.alloc(16 << 10);
  let written = 0;
  while (body.write(chunk)) written += chunk.length;
  assert.ok(written <= 256 << 10, `${written} bytes were taken without anyone to take them`);
  await new Promise(setImmediate);
  assert.equal(pieces.length, 1, 'the first piece is not written yet');
  room.resolve();
  await drained.promise;
  body.end();
  assert.deepEqual(await body.ended, { kind: 'done', body: new Uint8Array(0), bytes: written + chunk.length });
});

test('bytes come out of a buffer as they went in, however they were cut', () => {
  const sizes = fc.array(fc.oneof(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 30_000, max: 100_000 })), {
    maxLength: 8,
  });
  fc.assert(
    fc.property(sizes, (lengths) => {
      const chunks = lengths.map((length, at) => Buffer.alloc(length, at));
      const buffer = new BodyBuffer();
      for (const chunk of chunks) buffer.push(chunk);
      assert.equal(buffer.size, Buffer.concat(chunks).length);
      assert.ok(Buffer.concat(chunks).equals(buffer.take()));
      assert.equal(buffer.size, 0);
    }),
    { numRuns: 50 },
  );
});

/** The best that it can do takes seconds. */
function brotli(bytes: Buffer): Buffer {
  return brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } });
}

async function streamed(
  raw: Buffer,
  codings: readonly Coding[],
  size: number,
  sink: { write(chunk: Uint8Array): Promise<void> } | null = null,
): Promise<StreamedEnd> {
  const body = new StreamedBody({ codings, limit: LIMIT, sink, onDrain: () => undefined });
  for (let at = 0; at < raw.length; at += size) body.write(raw.subarray(at, at + size));
  body.end();
  return body.ended;
}

async function inPieces(raw: Buffer, size: number): Promise<Buffer | null> {
  const inflater = inflaters(['gzip'])[0];
  if (inflater === undefined) return null;
  for (let at = 0; at < raw.length; at += size) inflater.write(raw.subarray(at, at + size));
  inflater.end();
  return buffer(inflater);
}

function flipped(bytes: Buffer, at: number): Buffer {
  const changed = Buffer.from(bytes);
  const index = at < 0 ? bytes.length + at : at;
  changed[index] = (changed[index] ?? 0) ^ 1;
  return changed;
}

function done(body: Buffer): StreamedEnd {
  return { kind: 'done', body, bytes: body.length };
}
