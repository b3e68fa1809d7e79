import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { EXIT } from '../../src/cli/exit-codes.ts';
import { startService } from '../api/service.ts';
import { startDocsSite } from '../models/docs-site.ts';
import { command, tempFolder, trawl } from './trawl.ts';

const server = createServer(({ url = '' }, response) => {
  const page = `<title>Guide</title><main>${'word '.repeat(50)}</main>`;
  if (url === '/guide/' || url === '/guide') response.writeHead(200, { 'content-type': 'text/html' }).end(page);
  else response.writeHead(404).end();
});
await once(server.listen(0, '127.0.0.1'), 'listening');
after(() => {
  server.closeAllConnections();
  server.close();
});
const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

const { url, engine } = await startService({ workers: 1, allowAddresses: 'loopback' });
const run = (...words: readonly string[]) => command(words, { TRAWL_URL: url });

test('a site is inspected, added, listed, shown, tested and removed', async () => {
  const none = await trawl(['sites', 'list'], { TRAWL_URL: url });
  assert.deepEqual([none.stdout, none.code], ['', EXIT.done]);
  assert.match(none.stderr, /^There are no sites\. Add one with trawl sites add/);

  const dry = await run('sites', 'add', `${origin}/guide/`, '--id', 'guide', '--dry-run', '--json');
  const { sites } = JSON.parse(dry.stdout);
  assert.deepEqual(
    [sites.guide.baseUrl, sites.guide.mode, sites.guide.content.selector],
    [`${origin}/guide`, ...['fetch', 'main']],
  );
  assert.deepEqual(JSON.parse((await run('sites', 'list', '--json')).stdout), { sites: [] });

  const added = await run('sites', 'add', `${origin}/guide/`, '--id', 'guide');
  assert.equal(added.code, EXIT.done, added.stderr);
  assert.match(added.stdout, /^Page: {6}http.*, "Guide"\nContent: {3}in the HTML, at main \(50 words\)\n/);
  assert.match(added.stdout, /Sitemaps: {2}none found\nllms\.txt: {2}none\nAdded the site guide;/);
  const again = await run('sites', 'add', `${origin}/guide/`, '--id', 'guide');
  assert.deepEqual(
    [again.code, again.stderr],
    [EXIT.badUsage, 'trawl: There is already a site guide: use --replace, or another id with --id.\n'],
  );
  assert.match((await run('sites', 'list')).stdout, /^SITE .*\nguide +http\S+\/guide +fetch +main +api +Guide\n$/);
  assert.match(
    (await run('sites', 'show', 'guide')).stdout,
    /^guide, set through the API, changed at \S+\n\{\n {2}"name"/,
  );

  const fits = await run('sites', 'test', 'guide');
  assert.match(fits.stdout, /The configuration fits\.\n$/);
  assert.equal(fits.code, EXIT.done);
  const wrong = await run('sites', 'add', `${origin}/guide/`, '--id', 'guide', '--replace', '--selector', '.nothing');
  assert.equal(wrong.code, EXIT.done, wrong.stderr);
  const misfit = await run('sites', 'test', 'guide', '/');
  assert.match(misfit.stdout, /Problem: content\.selector: the HTML has nothing at \.nothing\.\n$/);
  assert.equal(misfit.code, EXIT.someItemsFailed);
  const missing = await run('sites', 'test', 'guide', 'missing');
  assert.match(missing.stderr, /answered with status 404/);
  assert.equal(missing.code, EXIT.failed);

  assert.equal((await run('sites', 'remove', 'guide')).stdout, 'The site guide is removed.\n');
  assert.equal((await run('sites', 'remove', 'guide')).stdout, 'There was no site guide.\n');
  const gone = await run('sites', 'show', 'guide');
  assert.deepEqual([gone.code, gone.stderr.includes('There is no site guide')], [EXIT.badUsage, true]);
});

test('a page, the links and all pages of a site are fetched with one command each', async (t) => {
  const docs = await startDocsSite();
  t.after(() => docs.close());
  const added = await run('sites', 'add', `${docs.origin}/guide/`, '--id', 'docs', '--selector', 'main');
  assert.equal(added.code, EXIT.done, added.stderr);
  const page = await run('sites', 'content', 'docs', '/a');
  assert.deepEqual([page.code, page.stdout.slice(0, 23)], [EXIT.done, '# /guide/a\n\nSome words '], page.stderr);
  const missing = await run('sites', 'content', 'docs', '/nothing');
  assert.deepEqual([missing.code, missing.stdout], [EXIT.failed, '']);
  assert.match(missing.stderr, /^trawl: .*404/);

  const links = await run('sites', 'links', 'docs');
  assert.equal(links.code, EXIT.done, links.stderr);
  const paths = links.stdout
    .trim()
    .split('\n')
    .map((link) => link.slice(`${docs.origin}/guide`.length));
  assert.ok(
    ['/deep/1', '/mapped', '/listed'].every((path) => paths.includes(path)),
    links.stdout,
  );

  const out = join(tempFolder(), 'pages');
  const pulled = await run('sites', 'index', 'docs', '--delay', '0', '--out', out);
  assert.equal(pulled.code, EXIT.done, pulled.stderr);
  assert.match(pulled.stdout, /^Job \S+: \d+ read, \d+ from the cache or left out, 0 failed\. Written: 8 pages in /);
  assert.match(readFileSync(join(out, 'docs', 'deep', '1.md'), 'utf8'), /^# \/guide\/deep\/1\n/);
  const created = await run('sites', 'index', 'docs', '--delay', '0');
  const [, jobId = ''] = /^Created job (\S+); see trawl jobs watch \1\.\n$/.exec(created.stdout) ?? [];
  assert.equal((await run('jobs', 'watch', jobId)).code, EXIT.done);
  assert.equal((await run('cache', 'clear', 'docs')).code, EXIT.done);
  assert.equal((await run('errors', 'clear', 'docs')).stdout, 'Forgot the failures of 1 page.\n');
});

test('what is cached is counted, listed and removed', async () => {
  assert.equal((await run('cache', 'stats')).stdout, 'Nothing is cached.\n');
  const fetchedAt = Date.parse('2026-05-03T12:34:00Z');
  const page = { title: 'A title', etag: null, lastModified: null, fetchedAt, url: 'https://docs.test/a?b=1' };
  const key = { site: 'docs', path: '/a?b=1', method: 'inner_html' } as const;
  await engine.pageCache.record([{ kind: 'content', key, content: 'x'.repeat(2000), ...page }]);
  const time = '2026-05-03 12:34';
  const stats = await run('cache', 'stats');
  assert.match(stats.stdout, new RegExp(`^SITE .*\ndocs +1 +0 +0 +\\S+ \\S+ +${time} +${time}\n$`));
  const listed = await run('cache', 'keys', '--site', 'docs');
  assert.match(listed.stdout, new RegExp(`^SITE .*\ndocs +/a\\?b=1 +page +\\S+ \\S+ +${time} +- +A title\n$`));
  assert.equal((await run('cache', 'clear', 'docs')).stdout, 'Removed 1 cached page of docs.\n');
  assert.equal((await run('cache', 'keys')).stderr, 'Nothing is cached.\n');
});

test('failures are listed and forgotten, by site or all', async () => {
  const failed = (site: string) =>
    ({ kind: 'failed', page: { site, path: '/a' }, error: 'status 500', at: Date.now() }) as const;
  await engine.pathErrors.note([...Array.from({ length: 3 }, () => failed('one')), failed('two')]);
  const listed = await run('errors', 'list', 'one');
  assert.match(listed.stdout, /^SITE .*\none +\/a +3 +\S+ \S+ +\d{4}-\S+ \S+ +status 500\n$/);
  assert.equal((await run('errors', 'clear', 'one')).stdout, 'Forgot the failures of 1 page.\n');
  const unclear = await run('errors', 'clear');
  assert.deepEqual([unclear.code, unclear.stderr], [EXIT.badUsage, 'trawl: name a site, or use --all\n']);
  assert.equal((await run('errors', 'clear', '--all')).stdout, 'Forgot the failures of 1 page.\n');
  assert.equal((await run('errors', 'list')).stderr, 'No page has failed.\n');
});
