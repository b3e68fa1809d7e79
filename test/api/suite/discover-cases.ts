import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, test } from 'node:test';
import type { DiscoveryAnswer } from '../../../src/contract/site-answers.ts';
import { Client, type Start } from './client.ts';

const TEXT = 'A page of documentation with some words in it. '.repeat(20);

/** Pages by path; `accept` is what the page `/guide` sends to clients that accept Markdown. */
async function startDocs() {
  const asked: { readonly path: string; readonly agent: string }[] = [];
  const server = createServer(({ url = '', headers }, response) => {
    asked.push({ path: url, agent: headers['user-agent'] ?? '' });
    const send = (type: string, body: string) => response.writeHead(200, { 'content-type': type }).end(body);
    const html = (body: string) => send('text/html', `<!doctype html><title>Guide &amp; more</title>${body}`);
    if (url === '/old') response.writeHead(302, { location: '/guide/' }).end();
    else if (url === '/guide/' && headers.accept === 'text/markdown') send('text/markdown', '# Guide');
    else if (url === '/guide/') html(`<nav>Menu</nav><main><article>${TEXT}</article></main>`);
    else if (url === '/guide.md') send('text/plain', `# Guide\n${TEXT}`);
    else if (url === '/app') html('<div id="root"></div><script src="app.js"></script>');
    else if (url === '/robots.txt') send('text/plain', 'User-agent: *\nSitemap: /maps/index.xml\n');
    else if (url === '/maps/index.xml')
      send('text/xml', '<sitemapindex><loc>https://x.test/1.xml</loc></sitemapindex>');
    else if (url === '/llms.txt') send('text/plain', '# Docs\n- [Guide](/guide.md)\n');
    else response.writeHead(404, { 'content-type': 'text/html' }).end('<h1>Not found</h1>');
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { asked, origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

/** Inspecting a site that is not known yet. */
export async function discoverCases(start: Start): Promise<void> {
  const client = await Client.of(await start({ workers: 0, allowAddresses: 'loopback' }));
  const docs = await startDocs();
  const path = (url: string, more = '') => `/discover?url=${encodeURIComponent(url)}${more}`;

  test('a site is inspected, and a suitable configuration is proposed', async () => {
    const found = await client.get<DiscoveryAnswer>(path(`${docs.origin}/old`, '&selector=nav'));
    assert.deepEqual([found.url, found.title], [`${docs.origin}/guide/`, 'Guide & more']);
    assert.deepEqual([found.content.in_html, found.content.selector, found.selector_words], [true, 'main article', 1]);
    assert.deepEqual(found.markdown, { suffix: true, accept: true });
    assert.deepEqual(found.sitemaps, [{ url: `${docs.origin}/maps/index.xml`, kind: 'index', urls: 1 }]);
    assert.deepEqual(found.llms_txt, { url: `${docs.origin}/llms.txt`, title: 'Docs', urls: 1 });
    const { baseUrl, mode, content } = found.config;
    assert.deepEqual([baseUrl, mode, content.markdown], [`${docs.origin}/guide`, 'fetch', 'suffix']);
    const added = await client.ask('PUT', `/sites/${found.site_id}`, { json: found.config });
    assert.equal(added.status, 200, added.text);
    await client.ask('DELETE', `/sites/${found.site_id}`);
    assert.equal(
      docs.asked.every(({ agent }) => /^Trawl\/\S+ \(\+\S+\) documentation archiver$/.test(agent)),
      true,
    );
    assert.equal(docs.asked.length <= 12, true, `${docs.asked.length} requests`);
  });

  test('a page that is filled by scripts is for a browser', async () => {
    const { content, config } = await client.get<DiscoveryAnswer>(path(`${docs.origin}/app`));
    assert.deepEqual([content.in_html, config.mode, config.content.markdown], [false, 'browser', 'none']);
  });

  test('a page that cannot be read is a problem that says why', async () => {
    const missing = await client.refused(424, 'page_not_read', 'GET', path(`${docs.origin}/missing`));
    assert.match(missing.detail, /status 404/);
    await client.refused(424, 'page_not_read', 'GET', path('http://10.0.0.1/'));
    const { errors } = await client.refused(422, 'invalid_request', 'GET', path('mailto:x@y'));
    assert.deepEqual(
      errors?.map((error) => error.path),
      ['url'],
    );
  });

  test('a host that an operator has paused is not contacted', async () => {
    const host = encodeURIComponent(new URL(docs.origin).host);
    const until = new Date(Date.now() + 3_600_000).toISOString();
    await client.ask('PUT', `/hosts/${host}`, { json: { paused_until: until, note: 'by phone' } });
    const before = docs.asked.length;
    const { detail } = await client.refused(424, 'page_not_read', 'GET', path(`${docs.origin}/guide/`));
    assert.match(detail, /paused until .*by phone/);
    assert.equal(docs.asked.length, before);
    await client.ask('DELETE', `/hosts/${host}`);
  });
}
