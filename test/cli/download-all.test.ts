import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { EXIT } from '../../src/cli/exit-codes.ts';
import { artifactFileName, fileNameApart } from '../../src/cli/jobs/file-names.ts';
import { foldName } from '../../src/domain/file-stem.ts';
import { startService } from '../api/service.ts';
import { answerJson, startApi } from './api-stub.ts';
import { command, tempFolder, trawl, writeLines } from './trawl.ts';

const SCRAPERS = fileURLToPath(new URL('../api/scrapers', import.meta.url));

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function documentOf(text: string) {
  return {
    kind: 'document',
    key: 'j/items/a/document.pdf',
    size: text.length,
    sha256: sha256(text),
    content_type: 'application/pdf',
    encoding: 'identity',
    href: '',
  } as const;
}

interface Stub {
  readonly id: string;
  /** Null: the item has no document. */
  readonly text: string | null;
  /** The first time, the server refuses it or breaks off after some bytes. */
  readonly fails?: 'gone' | 'broken';
}

/** As much of the API as a download needs; counts what is received at the same time. */
async function startDocuments(items: readonly Stub[]) {
  const asked: string[] = [];
  const open = { now: 0, most: 0 };
  const broken = new Set<string>();
  const stub = await startApi(async (request, response) => {
    const url = new URL(request.url ?? '', 'http://stub');
    if (url.pathname.endsWith('/status')) return answerJson(response, { summary: { total: items.length } });
    if (url.pathname.endsWith('/items')) {
      const from = Number(url.searchParams.get('cursor') ?? 0);
      const page = items.slice(from, from + 3).map(({ id, text }) => {
        return { item_id: id, artifacts: text === null ? [] : [documentOf(text)] };
      });
      const next = from + 3 < items.length ? String(from + 3) : null;
      return answerJson(response, { items: page, next_cursor: next });
    }
    const id = decodeURIComponent(url.pathname.split('/')[4] ?? '');
    const item = items.find((each) => each.id === id);
    asked.push(id);
    if (item?.fails === 'gone') {
      return answerJson(response, { status: 404, code: 'artifact_not_found', detail: 'The bytes are missing.' }, 404);
    }
    const body = Buffer.from(item?.text ?? '');
    const from = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1] ?? 0);
    open.now += 1;
    open.most = Math.max(open.most, open.now);
    response.once('close', () => {
      open.now -= 1;
    });
    response.writeHead(from > 0 ? 206 : 200, {
      etag: `"${sha256(item?.text ?? '')}"`,
      'content-length': body.length - from,
    });
    if (item?.fails === 'broken' && !broken.has(id)) {
      broken.add(id);
      response.write(body.subarray(0, 2), () => request.socket.destroy());
    } else setImmediate(() => response.end(body.subarray(from)));
  });
  const download = (to: string, ...more: readonly string[]) =>
    command(['jobs', 'download', 'j', '--all', '--kind', 'document', '--to', to, ...more], { TRAWL_URL: stub.url });
  return { download, asked, open, url: stub.url };
}

test('the documents of a job become files that are named after their items, and a second run skips them', async () => {
  const { url } = await startService({ scrapers: [SCRAPERS] });
  const folder = tempFolder();
  const list = writeLines(folder, 'items.jsonl', [
    { item_id: '200-1', input: { data: { owner: 'A' } } },
    { item_id: 'x/y', input: { data: { owner: 'B' } } },
    { item_id: 'bad', input: { type: 'no_results' } },
  ]);
  await command(['jobs', 'create', 'test-mixed', '--items', list, '--job-id', 'j', '--watch'], { TRAWL_URL: url });
  const to = join(folder, 'pages', 'of j');
  const download = ['jobs', 'download', 'j', '--all', '--kind', 'html', '--to', to];
  // What fills pipes gets a process of its own.
  const first = await trawl(download, { TRAWL_URL: url });
  assert.equal(first.code, EXIT.done);
  assert.match(first.stderr, /3\/3 100 %[^\n]*\n.*pages\/of j: 2 files downloaded \(\d+ B\), 0 already there\n$/);
  const [plain = '', other = ''] = readdirSync(to).sort();
  assert.deepEqual([plain, /^x_y~[0-9a-f]{12}\.html$/.test(other)], ['200-1.html', true]);
  assert.match(readFileSync(join(to, plain), 'utf8'), /<h1>200-1<\/h1>/);
  assert.match(readFileSync(join(to, other), 'utf8'), /<h1>x\/y<\/h1>/);
  rmSync(join(to, plain));
  const again = await command([...download, '--json'], { TRAWL_URL: url });
  const lines = again.stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  assert.deepEqual(lines.map(({ item_id: id, downloaded, file }) => [id, downloaded, file]).sort(), [
    ['200-1', true, join(to, plain)],
    ['x/y', false, join(to, other)],
  ]);
  const none = await command(['jobs', 'download', 'j', '--all', '--kind', 'document', '--to', to], { TRAWL_URL: url });
  assert.match(none.stderr, /0 files downloaded .* No item of the job has a document\n$/);
});

test('a file with other content is never overwritten, and a second run finds both', async () => {
  const { download } = await startDocuments([{ id: 'a', text: 'new bill' }]);
  const to = tempFolder();
  writeFileSync(join(to, 'a.pdf'), 'my notes');
  assert.equal((await download(to)).code, EXIT.done);
  const apart = `a~${sha256('new bill').slice(0, 8)}.pdf`;
  assert.deepEqual(readdirSync(to).sort(), ['a.pdf', apart].sort());
  assert.deepEqual(
    [readFileSync(join(to, 'a.pdf'), 'utf8'), readFileSync(join(to, apart), 'utf8')],
    ['my notes', 'new bill'],
  );
  assert.match((await download(to)).stderr, /0 files downloaded \(0 B\), 1 already there/);
});

test('a file that breaks off is resumed, and a missing one does not affect the others', async () => {
  const { download, asked } = await startDocuments([
    { id: 'a', text: 'bill of a', fails: 'broken' },
    { id: 'b', text: 'bill of b', fails: 'gone' },
    { id: 'c', text: null },
    { id: 'd', text: 'bill of d' },
  ]);
  const to = tempFolder();
  const { code, stderr } = await download(to);
  assert.equal(code, EXIT.someItemsFailed);
  assert.match(stderr, /b: The bytes are missing\./);
  assert.match(stderr, /2 files downloaded .*, 0 already there, 1 failed\./);
  assert.deepEqual(readdirSync(to).sort(), ['a.pdf', 'd.pdf']);
  assert.equal(readFileSync(join(to, 'a.pdf'), 'utf8'), 'bill of a');
  assert.equal(asked.filter((id) => id === 'a').length, 2);
});

test('no more files are received at the same time than were asked for', async () => {
  const items = Array.from({ length: 20 }, (_, at) => ({ id: `i-${at}`, text: `bill ${at}` }));
  const { download, open } = await startDocuments(items);
  const to = tempFolder();
  await download(to, '--concurrency', '2');
  assert.equal(readdirSync(to).length, 20);
  assert.ok(open.most <= 2, `${open.most} at a time`);
});

test('options that do not go together are refused before any request', async () => {
  const { url, asked } = await startDocuments([]);
  const to = join(tempFolder(), 'never');
  const LABELS =
    '--artifact must be one of html, page:NAME, data, metadata, screenshot, document, failed_page, visit, trace';
  const refusals = [
    [['--all', '--kind', 'document'], '--all needs --to FOLDER'],
    [['a', '--all', '--kind', 'document', '--to', to], 'name an item or use --all, not both'],
    [['--kind', 'document'], 'name an item, or use --all --to FOLDER for all items of the job'],
    [['a', '--kind', 'document', '--to', to], '--to is only for --all'],
    [['--all', '--kind', 'pdf', '--to', to], LABELS],
    [['--all', '--to', to], LABELS],
  ] as const;
  for (const [words, message] of refusals) {
    const { code, stderr } = await command(['jobs', 'download', 'j', ...words], { TRAWL_URL: url });
    assert.deepEqual([code, stderr], [EXIT.badUsage, `trawl: ${message}\n`]);
  }
  assert.deepEqual([asked, existsSync(to)], [[], false]);
});

test('names are safe on every file system, and no two ids share one', () => {
  const bill = documentOf('bill');
  const name = (id: string) => artifactFileName(id, bill);
  assert.equal(name('503-51-079A'), '503-51-079A.pdf');
  assert.equal(name('Peña'), 'Peña.pdf');
  const odd = [
    'a/b',
    'a:b',
    'a b',
    'a\u0000b',
    'a\u202eb',
    '..',
    '.hidden',
    '-rf',
    'con',
    'COM1.x',
    'a.',
    'a~b',
    'Pen\u0303a',
    '\ud800',
    '\ud801',
    '',
  ];
  const names = odd.map(name);
  for (const each of names)
    assert.match(each, /^[^\p{C}\p{Z}\\/:*?"<>|.~-][^\p{C}\p{Z}\\/:*?"<>|]*~[0-9a-f]{12}\.pdf$|^~[0-9a-f]{12}\.pdf$/u);
  assert.equal(new Set(names.map(foldName)).size, odd.length);
  const long = ['x'.repeat(1000), `${'x'.repeat(999)}y`, '😀'.repeat(300)].map(name);
  assert.equal(new Set(long).size, 3);
  for (const each of long) assert.ok(Buffer.byteLength(`${each}.unfinished`) + 64 <= 255, each);
  assert.equal(fileNameApart('a', bill), `a~${bill.sha256.slice(0, 8)}.pdf`);
  assert.equal(artifactFileName('a', { ...bill, key: 'packed', offset: 0, length: 4 }), 'a.pdf');
  const page = { ...bill, kind: 'page', name: 'taxes', key: 'j/items/a/page-taxes.html' } as const;
  assert.equal(artifactFileName('a', page), 'a.taxes.html');
});
