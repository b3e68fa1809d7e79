import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openAwsClients } from '../../../src/adapters/aws/clients.ts';
import { openS3ResultStore } from '../../../src/adapters/aws/result-store.ts';
import type { LinkOptions, ResultLinks } from '../../../src/ports/result-store.ts';
import { bytes, KEEP, KEY, noise, same } from '../../contract/result-store/bytes.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { inRoom, NOBODY } from './result-room.ts';

async function linkTo(store: ResultLinks, key: string, options: LinkOptions): Promise<string> {
  const url = await store.presign(key, options);
  assert.ok(url !== null, key);
  return url;
}

const LINK = { expiresSeconds: 300, fileName: 'p-1-html.html' };

inRoom('a link gives the bytes to anyone who has it, as a file of the requested name and type', async (room) => {
  const { store, sent } = room;
  const body = noise(50_000);
  for (const encoding of ['identity', 'gzip'] as const) {
    const key = `job-1/${encoding}.html`;
    await store.put(key, body, { ...KEEP, encoding });
    sent.length = 0;
    const url = await linkTo(store, key, { ...LINK, contentType: 'application/octet-stream' });
    assert.deepEqual(sent, [], 'signing asks nobody');
    const answer = await fetch(url);
    assert.equal(answer.status, 200);
    assert.equal(answer.headers.get('content-type'), 'application/octet-stream');
    assert.equal(
      answer.headers.get('content-disposition'),
      'attachment; filename="p-1-html.html"; filename*=UTF-8\'\'p-1-html.html',
    );
    assert.equal(answer.headers.get('content-encoding'), encoding === 'gzip' ? 'gzip' : null);
    assert.ok(same(await answer.bytes(), body), encoding);
  }
});

inRoom('a link is signed for its time, its key and its headers', async ({ store, url: room }) => {
  const url = new URL(await linkTo(store, KEY, LINK));
  assert.equal(`${url.origin}${url.pathname}`, `${room}/${KEY}`);
  const asked = url.searchParams;
  assert.deepEqual([asked.get('X-Amz-Expires'), asked.get('X-Amz-SignedHeaders')], ['300', 'host']);
  assert.match(asked.get('X-Amz-Signature') ?? '', /^[0-9a-f]{64}$/);
  assert.equal(asked.has('response-content-type'), false);
  const other = new URL(await linkTo(store, KEY, { ...LINK, fileName: 'other' }));
  assert.notEqual(other.searchParams.get('X-Amz-Signature'), asked.get('X-Amz-Signature'));
});

inRoom('a slice has no link of its own: a link leads to all that is under a key', async ({ store }) => {
  assert.equal(await store.presign({ key: KEY, offset: 0, length: 1 }, LINK), null);
  assert.equal(await store.presign({ key: KEY, offset: 5 }, LINK), null);
  assert.notEqual(await store.presign({ key: KEY }, LINK), null);
  await assert.rejects(store.presign({ key: '../x', offset: 5 }, LINK), /not a key of safe segments/);
});

inRoom('no file name escapes its quotes, its header or its folder', async ({ store }) => {
  await store.put(KEY, bytes('x'), KEEP);
  const names = [
    'a"; x="b.html',
    'a\r\nX-Evil: 1',
    '../../etc/passwd',
    '',
    '...',
    '\u202egnp.exe',
    '\ud800',
    'é'.repeat(500),
  ];
  for (const fileName of names) {
    const answer = await fetch(await linkTo(store, KEY, { ...LINK, fileName }));
    const header = answer.headers.get('content-disposition') ?? '';
    assert.match(header, /^attachment; filename="\w[\w.-]*"; filename\*=UTF-8''[\w.~!%-]+$/, fileName);
    const full = decodeURIComponent(header.split("''")[1] ?? '');
    assert.ok(Buffer.byteLength(full) <= 200 && !/[\p{C}\p{Z}/\\"]/u.test(full), full);
  }
  const answer = await fetch(await linkTo(store, KEY, { ...LINK, fileName: `${'x'.repeat(500)}-größe.html` }));
  assert.match(decodeURIComponent(answer.headers.get('content-disposition') ?? ''), /UTF-8''x+-größe\.html$/);
});

inRoom('a link to an unsafe key, or for an impossible time, is refused', async ({ store }) => {
  await assert.rejects(store.presign('../x', LINK), /not a key of safe segments/);
  for (const expiresSeconds of [0, -1, 1.5, Number.NaN, 604_801]) {
    await assert.rejects(store.presign(KEY, { ...LINK, expiresSeconds }), RangeError);
  }
});

test('any server that speaks S3 will do: the bucket is in the path, and not in a host name of its own', async () => {
  const { s3, close } = openAwsClients({ ...NOBODY, endpoints: { s3: 'https://storage.example:9000' } });
  const store = openS3ResultStore({ s3, bucket: 'my.results', clock: new FakeClock() });
  const url = new URL(await linkTo(store, 'job-1/x~0123456789abcdef0123456789abcdef/data.json', LINK));
  assert.equal(url.host, 'storage.example:9000');
  assert.equal(url.pathname, '/my.results/job-1/x~0123456789abcdef0123456789abcdef/data.json');
  close();
});
