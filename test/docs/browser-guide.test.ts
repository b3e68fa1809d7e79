import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { testChromium } from '../support/chromium.ts';
import { openGuide } from './guide.ts';
import { PASSWORD } from './guide-site.ts';
import { scrapersOf } from './scrapers-of.ts';

const SEARCH = `<input id="search"><div id="found"></div><script>
  document.querySelector('#search').oninput = ({ target: { value } }) => setTimeout(() => {
    found.innerHTML = value === '200-14-030' ? '<div class="row"><a href="/detail">200-14-030</a></div>' : 'No such ' + 'parcel';
  }, 50);
</script>`;
const DETAIL =
  '<p id="apn">200-14-030</p><p id="owner">SMITH JOHN</p><p id="tax">$1,204.50</p><a id="bill" href="/bill.pdf" download>bill</a>';
const LOGIN = '<form method="post"><input id="password" name="password"><button id="login">in</button></form>';

/** The sites of the examples: one for everybody, one for members. */
async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const html = (body: string, headers = {}) =>
    response.writeHead(200, { 'content-type': 'text/html', ...headers }).end(`<!doctype html><body>${body}</body>`);
  if (request.method === 'POST') {
    const [body = ''] = await Array.fromAsync(request, String);
    const isMember = new URLSearchParams(body).get('password') === PASSWORD;
    html(isMember ? 'Welcome' : 'Who are you?', isMember ? { 'set-cookie': 'member=yes' } : {});
  } else if (request.url === '/login') html(LOGIN);
  else if (request.url === '/detail') html(DETAIL);
  else if (request.url === '/bill.pdf')
    response.writeHead(200, { 'content-type': 'application/pdf' }).end('%PDF-1.4 bill');
  else if (request.url === '/parcel/200-14-030' && request.headers.cookie === 'member=yes') html(DETAIL);
  else html(SEARCH);
}

let site: Server;
before(async () => {
  await testChromium();
  site = createServer((request, response) => void answer(request, response));
  await once(site.listen(0, '127.0.0.1'), 'listening');
});
after(() => site.close());

const EXPECTED: Readonly<Record<string, unknown>> = {
  'my-browser-county': { apn: '200-14-030', owner: 'SMITH JOHN', total_tax: 1204.5 },
  'my-login-county': { owner: 'SMITH JOHN' },
};

test('the scrapers of browser-scrapers.md work as written', async () => {
  // This uses http, because the browser would not trust the certificate of a site of ours.
  const page = readFileSync(new URL('../../docs/browser-scrapers.md', import.meta.url), 'utf8').replaceAll(
    /https:\/\/(?=\w+\.example\.gov)/g,
    'http://',
  );
  const scrapers = scrapersOf(page);
  assert.deepEqual(
    scrapers.map(({ id }) => id),
    Object.keys(EXPECTED),
  );
  const to = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
  const env = {
    TRAWL_ALLOW_ADDRESSES: 'loopback',
    TRAWL_ROUTES: `http://search.example.gov=${to},http://members.example.gov=${to}`,
    TRAWL_SECRET_COUNTY_PASSWORD: PASSWORD,
  };
  const files = Object.fromEntries(scrapers.map(({ id, code }) => [`scrapers/${id}.ts`, code]));
  const guide = openGuide({ env, files });
  for (const { id } of scrapers) {
    const { stdout, stderr } = await guide.run(`trawl try ${id} --input apn=200-14-030 --json`);
    const { outcome, data } = JSON.parse(stdout) as { outcome: string; data: unknown };
    assert.deepEqual([outcome, data], ['success', EXPECTED[id]], stdout + stderr);
  }
});
