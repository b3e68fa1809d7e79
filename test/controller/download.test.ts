import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { validateHeaderValue } from 'node:http';
import { test } from 'node:test';
import fc from 'fast-check';
import { type DownloadAnswer, type DownloadRequest, download } from '../../src/controller/results/download.ts';
import type { StoredArtifact } from '../../src/domain/artifact.ts';
import { parseAddress, type ResultAddress } from '../../src/domain/result-address.ts';
import { anyText } from '../support/any-text.ts';
import { MemoryResultStore } from '../support/memory/result-store.ts';
import { sized } from '../support/sized.ts';

const BODY = Buffer.from('%PDF-1.7 0123456789');
const KEY = 'job-1/items/a/document.pdf';
const ETAG = `"${hash('sha256', BODY)}"`;

async function given({
  body = BODY,
  contentType = 'application/pdf',
}: {
  body?: Uint8Array;
  contentType?: string;
} = {}): Promise<{ artifact: StoredArtifact; store: MemoryResultStore }> {
  const store = new MemoryResultStore();
  const stored = await store.put(KEY, body, { contentType, encoding: 'gzip', ifTaken: 'keep' });
  return { store, artifact: { kind: 'document', contentType, ...stored } };
}

async function ask(
  headers: DownloadRequest['headers'],
  { itemId = 'a', ...about }: Parameters<typeof given>[0] & { itemId?: string } = {},
): Promise<DownloadAnswer & { text: string | null }> {
  const answer = await download({ itemId, ...(await given(about)), headers });
  assert.ok(answer);
  for (const [name, value] of Object.entries(answer.headers)) validateHeaderValue(name, value);
  return { ...answer, text: answer.body && Buffer.concat(await Array.fromAsync(answer.body)).toString() };
}

const HARMLESS = {
  'X-Content-Type-Options': 'nosniff',
  'Content-Security-Policy': "sandbox; default-src 'none'",
  'Cross-Origin-Resource-Policy': 'same-origin',
};

test('an artifact is served whole, as a file to save that is never executed', async () => {
  const { status, headers, text } = await ask({});
  assert.deepEqual([status, text], [200, BODY.toString()]);
  assert.deepEqual(headers, {
    ...HARMLESS,
    ETag: ETAG,
    'Accept-Ranges': 'bytes',
    'Cache-Control': 'private, no-cache',
    'Content-Type': 'application/pdf',
    'Content-Disposition': `attachment; filename="a-document.pdf"; filename*=UTF-8''a-document.pdf`,
    'Content-Length': String(BODY.length),
  });
});

test('a part comes with its position and its length', async () => {
  const cases: readonly [range: string, place: string, text: string][] = [
    ['bytes=0-3', '0-3', '%PDF'],
    ['bytes=9-', '9-18', '0123456789'],
    ['bytes=-2', '17-18', '89'],
    ['bytes=18-500', '18-18', '9'],
  ];
  for (const [range, place, expected] of cases) {
    const { status, headers, text } = await ask({ range });
    assert.deepEqual([status, text], [206, expected], range);
    assert.equal(headers['Content-Range'], `bytes ${place}/19`);
    assert.equal(headers['Content-Length'], String(expected.length));
    assert.equal(headers['ETag'], ETAG);
    assert.match(headers['Content-Disposition'] ?? '', /^attachment; /);
    assert.equal(headers['Content-Type'], 'application/pdf');
  }
});

test('several parts at once, and an invalid range, are answered with the whole artifact', async () => {
  for (const range of ['bytes=0-1,3-4', 'bytes=3-1', 'lines=1-2', 'nonsense']) {
    const { status, headers, text } = await ask({ range });
    assert.deepEqual([status, text, headers['Content-Range']], [200, BODY.toString(), undefined], range);
  }
});

test('a part beyond the end is refused with the actual size', async () => {
  const { status, headers, body } = await ask({ range: 'bytes=19-' });
  assert.deepEqual([status, body, headers['Content-Range']], [416, null, 'bytes */19']);
  assert.equal(headers['Content-Length'], undefined);
  const empty = await ask({ range: 'bytes=0-' }, { body: new Uint8Array() });
  assert.deepEqual([empty.status, empty.headers['Content-Range']], [416, 'bytes */0']);
});

test('an empty artifact is served as zero bytes', async () => {
  for (const headers of [{}, { range: 'bytes=-5' }]) {
    const { status, text, headers: told } = await ask(headers, { body: new Uint8Array() });
    assert.deepEqual([status, text, told['Content-Length']], [200, '', '0']);
  }
});

test('a client that already has the bytes gets an answer that says so, without a body', async () => {
  const has = [ETAG, `W/${ETAG}`, `"other", ${ETAG}`, `"a,b",W/"x" , W/${ETAG}`, '*', ' * '];
  for (const ifNoneMatch of has) {
    const { status, headers, body } = await ask({ ifNoneMatch, range: 'bytes=0-1' });
    assert.deepEqual([status, body], [304, null], ifNoneMatch);
    assert.deepEqual(headers, {
      ...HARMLESS,
      ETag: ETAG,
      'Accept-Ranges': 'bytes',
      'Cache-Control': 'private, no-cache',
    });
  }
  const hasNot = ['', '"other"', ETAG.slice(1, -1), `"${ETAG.slice(1, 9)}"`, '"*"', 'W/"', '"'];
  for (const ifNoneMatch of hasNot) assert.equal((await ask({ ifNoneMatch })).status, 200, ifNoneMatch);
});

test('a part is only given to a client that has the rest of the same bytes', async () => {
  const range = 'bytes=0-3';
  assert.equal((await ask({ range, ifRange: ETAG })).status, 206);
  for (const ifRange of ['"other"', `W/${ETAG}`, 'Mon, 16 Nov 2026 00:00:00 GMT', '', '*']) {
    const { status, text } = await ask({ range, ifRange });
    assert.deepEqual([status, text], [200, BODY.toString()], ifRange);
  }
  assert.equal((await ask({ range: 'bytes=99-', ifRange: '"other"' })).status, 200);
});

test('the type is the stored one, unless it would harm the header', async () => {
  const good = ['text/html; charset=utf-8', 'application/vnd.ms-excel', 'image/svg+xml', 'a/b;c="d e";f=g'];
  for (const contentType of good) {
    assert.equal((await ask({}, { contentType })).headers['Content-Type'], contentType);
  }
  const bad = [
    '',
    'html',
    'text/',
    '/html',
    'text/html\r\nSet-Cookie: a=b',
    'text/html\n',
    'text/ html',
    'text/html, a/b',
  ];
  bad.push(
    'text/html; charset',
    'text/ü',
    'text/html;a="b',
    `text/${'x'.repeat(500)}`,
    'a/b\0',
    `a/b${';c=d'.repeat(50)}`,
  );
  for (const contentType of bad) {
    const { headers } = await ask({}, { contentType });
    assert.equal(headers['Content-Type'], 'application/octet-stream', JSON.stringify(contentType));
  }
});

test('the file is named after the item, whatever its id is', async () => {
  const cases: readonly [itemId: string, plain: string, full: string][] = [
    ['123-45-678', '123-45-678', '123-45-678'],
    ['Straße 5', 'Stra_e_5', 'Stra%C3%9Fe_5'],
    ['../../etc/passwd', '_.._etc_passwd', '_.._etc_passwd'],
    ['a"; filename="evil.exe', 'a_filename_evil.exe', 'a_%3B_filename%3D_evil.exe'],
    ["it's (a) *", 'it_s_a_', 'it%27s_%28a%29_'],
    ['a\r\nSet-Cookie: b', 'a_Set-Cookie_b', 'a_Set-Cookie_b'],
    ['photo\u202egpj', 'photo_gpj', 'photo_gpj'],
    ['...', 'item', 'item'],
    ['%2e%2e', '_2e_2e', '%252e%252e'],
    ['x'.repeat(400), 'x'.repeat(55), 'x'.repeat(55)],
    ['家\ud800', '_', '%E5%AE%B6%EF%BF%BD'],
  ];
  for (const [itemId, plain, full] of cases) {
    const { headers } = await ask({}, { itemId });
    const expected = `attachment; filename="${plain}-document.pdf"; filename*=UTF-8''${full}-document.pdf`;
    assert.equal(headers['Content-Disposition'], expected, itemId);
  }
});

test('no id escapes from the file name', async () => {
  await fc.assert(
    fc.asyncProperty(anyText({ maxLength: 100 }), async (itemId) => {
      const { headers } = await ask({}, { itemId });
      const [, plain = '', full = ''] =
        /^attachment; filename="([\w.-]+)"; filename\*=UTF-8''([\w.!~%-]+)$/.exec(
          headers['Content-Disposition'] ?? '',
        ) ?? [];
      for (const name of [plain, decodeURIComponent(full)]) {
        assert.match(name, /^[^.\\/-][^\\/\p{Cc}]*-document\.pdf$/u);
        assert.ok(Buffer.byteLength(name) <= 255);
      }
    }),
    { numRuns: sized({ quick: 60, slow: 300 }) },
  );
});

test('when the bytes are gone, there is no answer', async () => {
  const { artifact, store } = await given();
  await store.removeAll('job-1/');
  for (const range of [undefined, 'bytes=0-1']) {
    assert.equal(await download({ itemId: 'a', artifact, store, headers: { range } }), null);
  }
});

test('fewer bytes than were recorded end in an error, and surplus bytes are not sent', async () => {
  const { artifact, store } = await given();
  const torn = await download({ itemId: 'a', artifact: { ...artifact, size: 25 }, store, headers: {} });
  await assert.rejects(Array.fromAsync(torn?.body ?? []), /not as many as were recorded/);
  const long = await download({ itemId: 'a', artifact: { ...artifact, size: 4 }, store, headers: {} });
  assert.equal(Buffer.concat(await Array.fromAsync(long?.body ?? [])).toString(), '%PDF');
  const careless = {
    open: async () =>
      (async function* () {
        yield BODY;
        yield BODY;
      })(),
  };
  const cut = await download({ itemId: 'a', artifact, store: careless, headers: {} });
  let sent = 0;
  const reading = async () => {
    for await (const piece of cut?.body ?? []) sent += piece.length;
  };
  await assert.rejects(reading(), /not as many as were recorded/);
  assert.equal(sent, BODY.length);
});

test('only what is sent is read, and a client that stops reading ends it', async () => {
  const { artifact } = await given();
  const asked: unknown[] = [];
  let ended = 0;
  const store = {
    async open(at: string | ResultAddress, range: unknown) {
      asked.push([parseAddress(at).key, range]);
      return (async function* () {
        try {
          for (;;) yield BODY.subarray(0, 1);
        } finally {
          ended += 1;
        }
      })();
    },
  };
  await download({ itemId: 'a', artifact, store, headers: { ifNoneMatch: ETAG } });
  await download({ itemId: 'a', artifact, store, headers: { range: 'bytes=99-' } });
  assert.deepEqual(asked, []);
  const answer = await download({ itemId: 'a', artifact, store, headers: { range: 'bytes=2-5' } });
  assert.deepEqual(asked, [[KEY, { start: 2, end: 6 }]]);
  for await (const _ of answer?.body ?? []) break;
  assert.equal(ended, 1);
});
