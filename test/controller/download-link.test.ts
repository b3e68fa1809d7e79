import assert from 'node:assert/strict';
import { test } from 'node:test';
import { downloadLink, type LinkRequest } from '../../src/controller/results/download-link.ts';
import type { StoredArtifact } from '../../src/domain/artifact.ts';
import { parseAddress, type ResultAddress } from '../../src/domain/result-address.ts';
import type { LinkOptions } from '../../src/ports/result-store.ts';

const SHA256 = 'ab'.repeat(32);
const PAGE: StoredArtifact = {
  kind: 'html',
  key: 'job-1/items/a/html.html',
  size: 10,
  sha256: SHA256,
  encoding: 'identity',
  contentType: 'text/html; charset=utf-8',
};

async function link(
  about: Partial<StoredArtifact>,
  headers: LinkRequest['headers'] = {},
  itemId = 'a',
): Promise<{ readonly key: string; readonly options: LinkOptions } | null> {
  const made: { key: string; options: LinkOptions }[] = [];
  const links = {
    async presign(at: string | ResultAddress, options: LinkOptions) {
      const { key, slice } = parseAddress(at);
      if (slice !== null) return null;
      made.push({ key, options });
      return 'https://elsewhere.test/';
    },
  };
  const url = await downloadLink({ itemId, artifact: { ...PAGE, ...about }, links, headers });
  assert.equal(url, made.length === 0 ? null : 'https://elsewhere.test/');
  return made[0] ?? null;
}

test('a link gives access to the bytes for five minutes, under the name and type that a download has', async () => {
  assert.deepEqual(await link({}), {
    key: PAGE.key,
    options: { expiresSeconds: 300, fileName: 'a-html.html', contentType: 'text/html; charset=utf-8' },
  });
  const odd = await link({ contentType: 'text/html\r\nSet-Cookie: a=b' }, {}, '../Straße\u202e 5');
  assert.equal(odd?.options.contentType, 'application/octet-stream');
  assert.equal(odd?.options.fileName, '_Straße_5-html.html');
});

test('compressed bytes are only linked for clients that say they can decompress them', async () => {
  const unpacks = ['gzip', 'gzip, deflate, br', 'br;q=1.0, GZIP;q=0.5', '*', 'identity;q=0, *;q=0.1', 'gzip;q=0.001'];
  for (const acceptEncoding of unpacks) {
    assert.notEqual(await link({ encoding: 'gzip' }, { acceptEncoding }), null, acceptEncoding);
  }
  const doesNot = [undefined, '', 'identity', 'br', 'gzip;q=0', 'gzip; q = 0.000, *', '*;q=0', 'x-gzipped'];
  for (const acceptEncoding of doesNot) {
    assert.equal(await link({ encoding: 'gzip' }, { acceptEncoding }), null, String(acceptEncoding));
    assert.notEqual(await link({}, { acceptEncoding }), null, String(acceptEncoding));
  }
});

test('a range refers to the stored bytes, so it only works for those that are not compressed', async () => {
  assert.equal(await link({ encoding: 'gzip' }, { acceptEncoding: 'gzip', range: 'bytes=0-3' }), null);
  assert.notEqual(await link({}, { range: 'bytes=0-3' }), null);
  assert.equal(await link({}, { range: 'bytes=0-3', ifRange: `"${SHA256}"` }), null);
});

test('a part of a segment has no link of its own', async () => {
  assert.equal(await link({ offset: 0, length: 10 }), null);
  assert.equal(await link({ offset: 100, length: 10 }), null);
});

test('a client that already has the bytes is not redirected', async () => {
  assert.equal(await link({}, { ifNoneMatch: `W/"${SHA256}"` }), null);
  assert.notEqual(await link({}, { ifNoneMatch: '"another"' }), null);
});
