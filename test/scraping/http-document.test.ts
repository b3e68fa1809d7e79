import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import type { Draft, ResultStore } from '../../src/ports/result-store.ts';
import { DocumentSink } from '../../src/scraping/http/web-document.ts';
import { openMemoryResultStore } from '../support/memory/result-store.ts';
import { failsAs, openClient, openSite, type Reply } from './http-support.ts';

const PDF = Buffer.from('%PDF-1.7\n1 0 obj\n%%EOF\n');

/** A store that records what became of its drafts. */
function watchedStore() {
  const store = openMemoryResultStore();
  const drafts: { draft: Draft; discarded: boolean; largest: number }[] = [];
  const watched: Pick<ResultStore, 'draft'> = {
    draft() {
      const draft = store.draft();
      const seen = { draft, discarded: false, largest: 0 };
      drafts.push(seen);
      return new Proxy(draft, {
        get(target, name) {
          if (name === 'discard') seen.discarded = true;
          if (name === 'write') {
            return (chunk: Uint8Array) => {
              seen.largest = Math.max(seen.largest, chunk.length);
              return target.write(chunk);
            };
          }
          const value: unknown = Reflect.get(target, name);
          return typeof value === 'function' ? value.bind(target) : value;
        },
      });
    },
  };
  return { store, drafts, watched };
}

test('a large document goes into the store piece by piece, as it came', async (t) => {
  const piece = Buffer.alloc(64 * 1024, 'trawl');
  const pieces = 80;
  const site = await openSite(t, (_, response) => {
    response.writeHead(200, { 'content-type': 'application/pdf' });
    response.write(PDF);
    for (let count = 0; count < pieces; count += 1) response.write(piece);
    response.end();
    return null;
  });
  const { store, drafts, watched } = watchedStore();
  const document = await openClient(t, { store: watched }).document(`${site.origin}/bill`, { as: 'pdf' });
  const size = PDF.length + pieces * piece.length;
  assert.ok(size > 5_000_000);
  assert.deepEqual(
    [document.url, document.contentType, document.extension, document.size],
    [`${site.origin}/bill`, 'application/pdf', 'pdf', size],
  );
  assert.ok((drafts[0]?.largest ?? size) < size / 4, 'it was held in memory');
  const expected = createHash('sha256').update(PDF);
  for (let count = 0; count < pieces; count += 1) expected.update(piece);
  const draft = drafts[0]?.draft;
  assert.ok(draft);
  const stored = await store.put('a/document.pdf', draft, { contentType: '', encoding: 'identity', ifTaken: 'keep' });
  assert.equal(stored.sha256, expected.digest('hex'));
});

const KINDS: readonly (readonly [string, Reply & { path?: string }, string])[] = [
  ['a PDF that claims to be a page', { headers: { 'content-type': 'text/html' }, body: PDF }, 'pdf'],
  [
    'a PDF after an empty line',
    { headers: { 'content-type': 'application/octet-stream' }, body: Buffer.concat([Buffer.from('\r\n'), PDF]) },
    'pdf',
  ],
  ['a table named by its type', { headers: { 'content-type': 'text/csv; charset=utf-8' }, body: 'a,b\n' }, 'csv'],
  [
    'an office file',
    {
      headers: { 'content-type': 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet' },
      body: 'PK\x03\x04x',
    },
    'xlsx',
  ],
  ['an archive', { headers: { 'content-type': 'application/octet-stream' }, body: 'PK\x03\x04x' }, 'zip'],
  ['a picture', { headers: { 'content-type': 'image/png' }, body: Buffer.from('\x89PNG\r\n\x1a\n', 'latin1') }, 'png'],
  [
    'a file named by the header',
    {
      headers: { 'content-type': 'application/octet-stream', 'content-disposition': 'attachment; filename="deed.DWG"' },
      body: 'AC1015',
    },
    'dwg',
  ],
  [
    'a file named by its address',
    { path: '/map.shp', headers: { 'content-type': 'application/octet-stream' }, body: 'shape' },
    'shp',
  ],
  [
    'a file that nothing names',
    { path: '/get.aspx', headers: { 'content-type': 'application/octet-stream' }, body: 'bytes' },
    'bin',
  ],
];

for (const [name, reply, extension] of KINDS) {
  test(`${name} is kept as ${extension}`, async (t) => {
    const site = await openSite(t, () => reply);
    const document = await openClient(t).document(`${site.origin}${reply.path ?? '/file'}`);
    assert.equal(document.extension, extension);
    assert.equal(document.size, Buffer.from(reply.body ?? '').length);
  });
}

test('what came instead of the document says why', async (t) => {
  const answers: Record<string, Reply | string> = {
    '/blocked': '<title>Request</title>Request unsuccessful. Incapsula incident ID: 1',
    '/mislabelled': { headers: { 'content-type': 'application/pdf' }, body: '<html><title>Sign in</title></html>' },
    '/login': '<title>Sign in</title>',
    '/missing': { status: 404, headers: { 'content-type': 'application/pdf' }, body: PDF },
    '/empty': { headers: { 'content-type': 'application/pdf' }, body: '' },
    '/about': '<p>A PDF begins with %PDF-1.7</p>',
    '/busy': { status: 429 },
    '/table': { headers: { 'content-type': 'text/csv' }, body: PDF },
    '/none': { status: 204 },
  };
  const site = await openSite(t, ({ path }) => answers[path] ?? 'ok');
  const { drafts, watched } = watchedStore();
  const http = openClient(t, { store: watched });
  await failsAs(http.document(`${site.origin}/blocked`, { as: 'pdf' }), 'blocked', /Imperva/);
  await failsAs(
    http.document(`${site.origin}/mislabelled`, { as: 'pdf' }),
    'navigation_failed',
    /asked for a pdf, but .*"Sign in" came/,
  );
  await failsAs(
    http.document(`${site.origin}/login`),
    'navigation_failed',
    /asked for a document, but text\/html.*"Sign in"/,
  );
  await failsAs(http.document(`${site.origin}/missing`), 'not_found');
  await failsAs(http.document(`${site.origin}/empty`, { as: 'pdf' }), 'navigation_failed', /nothing came/);
  await failsAs(http.document(`${site.origin}/empty`), 'navigation_failed', /nothing came/);
  await failsAs(http.document(`${site.origin}/about`, { as: 'pdf' }), 'navigation_failed', /text\/html/);
  await failsAs(http.document(`${site.origin}/busy`), 'rate_limited');
  await failsAs(http.document(`${site.origin}/none`), 'navigation_failed', /nothing came/);
  await failsAs(http.document(`${site.origin}/table`, { as: 'csv' }), 'navigation_failed', /asked for a csv/);
  assert.equal(drafts.length, 0);
});

test('the beginning of a page that came instead of the document is kept, however it comes', async () => {
  const head = { status: 200, headers: { 'content-type': 'text/html' }, url: 'https://county.example/bill' };
  const sink = new DocumentSink(head, 'pdf', () => assert.fail('a draft was opened'));
  for (let count = 0; count < 100; count += 1) await sink.write(Buffer.alloc(1000, String(count % 10)));
  const kept = await sink.end();
  assert.ok(kept instanceof Uint8Array);
  assert.equal(kept.length, 64 * 1024);
  assert.equal(Buffer.from(kept).toString('latin1', 64_000, 64_003), '444');
});

test('nothing is left of a document that breaks off or grows too large', async (t) => {
  const site = await openSite(t, ({ path }, response) => {
    response.writeHead(200, { 'content-type': 'application/pdf' });
    response.write(PDF);
    response.write(Buffer.alloc(300_000));
    if (path === '/broken') response.destroy();
    else response.end();
    return null;
  });
  const { drafts, watched } = watchedStore();
  const http = openClient(t, { store: watched, limits: { pageBytes: 1000, documentBytes: 200_000 } });
  await failsAs(http.document(`${site.origin}/broken`), 'network_error');
  await failsAs(http.document(`${site.origin}/large`), 'too_large');
  assert.ok(drafts.every(({ discarded }) => discarded));
});

test('a form may answer with a document', async (t) => {
  const site = await openSite(t, ({ path, form }) =>
    path === '/print' && form.get('apn') === '1'
      ? { headers: { 'content-type': 'application/pdf' }, body: PDF }
      : '<form method=post action=/print><input name=apn><button name=pdf>Print</button></form>',
  );
  const page = await openClient(t).get(site.origin);
  const document = await page.form().fill({ apn: '1' }).document('Print', { as: 'pdf' });
  assert.equal(document.size, PDF.length);
});
