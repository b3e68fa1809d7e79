import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { EXIT } from '../../src/cli/exit-codes.ts';
import { startApi } from './api-stub.ts';
import { command, tempFolder, writeLines } from './trawl.ts';

/** A documentation site, and a folder with its configuration. */
async function openSite() {
  const requests: string[] = [];
  const site = await startApi(({ url = '' }, response) => {
    requests.push(url);
    if (url.startsWith('/docs/missing')) response.writeHead(404).end('<p>nothing here</p>');
    else {
      const content = `<main><h1>Page ${url}</h1><p>${'Some words. '.repeat(20)}</p></main>`;
      response.setHeader('content-type', 'text/html').end(`<nav>menu</nav>${content}`);
    }
  });
  const folder = tempFolder();
  const model = {
    ...{ name: 'Model', baseUrl: `${site.url}/docs`, mode: 'fetch' },
    content: { method: 'inner_html', selector: 'main' },
  };
  writeFileSync(join(folder, 'sites.json'), JSON.stringify({ sites: { model } }));
  const env = {
    ...{ TRAWL_ALLOW_ADDRESSES: 'loopback', TRAWL_WORKERS: '1' },
    ...{ TRAWL_DATA_DIR: join(folder, '.trawl'), TRAWL_SITES_FILE: join(folder, 'sites.json') },
  };
  const pages = (...paths: string[]) =>
    writeLines(
      folder,
      'urls.txt',
      paths.map((path) => `${site.url}${path}`),
    );
  return {
    ...{ requests, pages, url: site.url, out: join(folder, 'out') },
    run: (...words: string[]) => command(['bulk', ...words, '--delay', '0'], env),
  };
}

test('a list becomes a tree of Markdown files with a manifest, and a second pull requests nothing', async () => {
  const { pages, run, out, requests, url } = await openSite();
  const list = pages(
    '/docs',
    '/docs/guide/start.html',
    '/docs/guide/start?v=2',
    '/docs/a.pdf',
    '/docs/missing',
    '/blog',
  );
  const first = await run(list, '--out', out, '--llms-full', '--front-matter');
  assert.equal(first.code, EXIT.someItemsFailed, first.stderr);
  assert.match(first.stdout, /^3 pages in .*: 3 read, 0 from the cache or left out, 1 failed\n/);
  assert.match(first.stdout, /links to files: 1\n.*no configured site: 1\.\n {2}\/missing: /);
  const files = readdirSync(out, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  assert.deepEqual(
    files.map(({ name }) => name.replace(/~\w+/, '~')).sort(),
    ['index.md', 'llms-full.txt', 'manifest.json', 'start.md', 'start_v=2~.md'].sort(),
  );
  assert.match(
    readFileSync(join(out, 'model/guide/start.md'), 'utf8'),
    /^---\ntitle: "Page \/docs\/guide\/start\.html"\nsource: "http\S+start\.html"\n---\n\n# Page \/docs\/guide\/start\.html\n\nSome words\./,
  );
  const manifest = JSON.parse(readFileSync(join(out, 'manifest.json'), 'utf8'));
  assert.deepEqual(
    manifest.pages.map(({ path, status, file, error }: Record<string, { type: string } & string>) => [
      ...[path, status, file?.replace(/~\w+/, '~'), error?.type],
    ]),
    [
      ['', 'success', 'model/index.md', undefined],
      ['/guide/start.html', 'success', 'model/guide/start.md', undefined],
      ['/guide/start?v=2', 'success', 'model/guide/start_v=2~.md', undefined],
      ['/missing', 'failed', undefined, 'not_found'],
    ],
  );
  assert.deepEqual(
    manifest.links.map(({ type, url: link }: Record<string, string>) => [type, link]),
    [
      ['asset', `${url}/docs/a.pdf`],
      ['unknown', `${url}/blog`],
    ],
  );
  const all = readFileSync(join(out, 'llms-full.txt'), 'utf8');
  assert.deepEqual(all.match(/^<!-- .* -->$/gm), [
    ...['/docs', '/docs/guide/start.html', '/docs/guide/start?v=2'].map((path) => `<!-- ${url}${path} -->`),
  ]);

  const asked = requests.length;
  const second = await run(pages('/docs', '/docs/guide/start.html'), '--out', out, '--json');
  assert.equal(second.code, EXIT.done, second.stderr);
  const { progress, files: written } = JSON.parse(second.stdout);
  assert.deepEqual([progress.skipped, written, requests.length - asked], [2, 2, 0]);
});

test('a list becomes a zip, and its manifest lists what was not fetched', async () => {
  const { pages, run, out, url } = await openSite();
  const list = pages('/docs', '/docs/a.pdf', '/blog');
  const refused = await run(list, '--out', `${out}.zip`, '--llms-full');
  assert.deepEqual(
    [refused.code, refused.stderr],
    [EXIT.badUsage, 'trawl: --llms-full is not available for a zip; use a folder with --out\n'],
  );
  const { code, stdout, stderr } = await run(list, '--out', `${out}.zip`);
  assert.equal(code, EXIT.someItemsFailed, stderr);
  assert.match(stdout, /out\.zip: 1 read, 0 from the cache or left out, 0 failed\n/);
  const python = `import json,sys,zipfile; z = zipfile.ZipFile(sys.argv[1]); print(json.dumps([z.namelist(), json.loads(z.read('manifest.json'))]))`;
  const [names, manifest] = JSON.parse(execFileSync('python3', ['-c', python, `${out}.zip`], { encoding: 'utf8' }));
  assert.deepEqual(names, ['model/index.md', 'manifest.json']);
  const links = [
    { type: 'asset', url: `${url}/docs/a.pdf`, site: 'model', path: '/a.pdf' },
    { type: 'unknown', url: `${url}/blog` },
  ];
  assert.deepEqual([manifest.pages.length, manifest.links], [1, links]);
});

test('URLs that belong to no site are pulled on request, and listed otherwise', async () => {
  const { pages, run, out } = await openSite();
  const list = pages('/blog/one', '/blog/two');
  const none = await run(list, '--out', out);
  assert.equal(none.code, EXIT.someItemsFailed, none.stderr);
  assert.match(none.stdout, /no configured site: 2\. Add them to sites\.json, or pull them with --unknown auto\./);
  const all = await run(list, '--out', out, '--unknown', 'auto');
  assert.equal(all.code, EXIT.done, all.stderr);
  assert.match(all.stdout, /^2 pages in /);
});

test('a list that does not exist or has no URLs is refused', async () => {
  const { pages, run, out } = await openSite();
  const missing = await run('nowhere.txt', '--out', out);
  assert.deepEqual([missing.code, missing.stderr], [EXIT.badUsage, 'trawl: no such file: nowhere.txt\n']);
  const empty = await run(pages(), '--out', out);
  assert.match(empty.stderr, /No URLs provided/);
  assert.equal(empty.code, EXIT.badUsage);
});
