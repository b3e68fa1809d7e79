import assert from 'node:assert/strict';
import type { IncomingMessage, RequestListener } from 'node:http';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { trustArgs } from '../../src/egress/browser/launch-args.ts';
import { chromiumIdentity, LINUX } from '../../src/scraping/http/identity.ts';
import { headersFor, type Wanted } from '../../src/scraping/http/request-headers.ts';
import { launchChromium } from './open-browser.ts';
import { CERTIFICATE, startSite } from './sites.ts';

/** Something that a visitor does on `/start`, and the same for our HTTP client. */
interface Deed {
  readonly name: string;
  readonly does: (page: Page, other: string, near: string) => Promise<unknown>;
  readonly wanted: Pick<Wanted, 'method' | 'purpose' | 'contentType'>;
  /** Host of the address that is asked for. */
  readonly to: 'site.test' | 'www.site.test' | 'other.test';
  readonly isFirst?: true;
}

const PAGE = { method: 'GET', purpose: 'page', contentType: null } as const;
const FORM = { method: 'POST', purpose: 'page', contentType: 'application/x-www-form-urlencoded' } as const;
const JSON_GET = { method: 'GET', purpose: 'json', contentType: null } as const;
const JSON_POST = { method: 'POST', purpose: 'json', contentType: 'application/json' } as const;
const asked = (url: string, more = '') =>
  `fetch('${url}', { headers: { accept: 'application/json, text/plain, */*' }, ${more} }).then(() => 0, () => 0)`;

const DEEDS: readonly Deed[] = [
  { name: 'the first page', does: async () => undefined, wanted: PAGE, to: 'site.test', isFirst: true },
  { name: 'a link', does: (page) => page.click('#link'), wanted: PAGE, to: 'site.test' },
  {
    name: 'a link to another host of the site',
    does: (page) => page.click('#near'),
    wanted: PAGE,
    to: 'www.site.test',
  },
  { name: 'a link to another site', does: (page) => page.click('#other'), wanted: PAGE, to: 'other.test' },
  { name: 'a form', does: (page) => page.click('#send'), wanted: FORM, to: 'site.test' },
  { name: 'a form of another site', does: (page) => page.click('#send-away'), wanted: FORM, to: 'other.test' },
  { name: 'data', does: (page) => page.evaluate(asked('/next')), wanted: JSON_GET, to: 'site.test' },
  {
    name: 'data of another site',
    does: (page, other) => page.evaluate(asked(`${other}/next`)),
    wanted: JSON_GET,
    to: 'other.test',
  },
  {
    name: 'data that are sent',
    does: (page) =>
      page.evaluate(asked('/next', "method: 'POST', body: new Blob(['{}'], { type: 'application/json' })")),
    wanted: JSON_POST,
    to: 'site.test',
  },
];

/** These headers say how a message is carried, or whether it was cached. */
const NOT_OURS = new Set(['host', 'connection', 'content-length', 'cookie', 'cache-control']);

for (const { name, does, wanted, to, isFirst } of DEEDS) {
  test(`our client asks for ${name} with the headers of this machine's Chromium, in its order`, async (t) => {
    let port = 0;
    const start: RequestListener = (_, response) => {
      const link = (id: string, host: string) => `<a id=${id} href="https://${host}:${port}/next">${id}</a>`;
      const form = (id: string, host: string) =>
        `<form method=post action="https://${host}:${port}/next"><input name=a value=b><button id=${id}>${id}</button></form>`;
      const links = [link('link', 'site.test'), link('near', 'www.site.test'), link('other', 'other.test')];
      const body = [...links, form('send', 'site.test'), form('send-away', 'other.test')].join('');
      response.writeHead(200, { 'content-type': 'text/html' }).end(body);
    };
    const next: RequestListener = (_, response) =>
      response.writeHead(200, { 'access-control-allow-origin': `https://site.test:${port}` }).end('x');
    const site = await startSite(t, { '/start': start, '/next': next }, true);
    port = site.port;
    // There is no guard here: intercepting requests changes the order of their headers.
    const rules = '--host-resolver-rules=MAP *.test 127.0.0.2';
    const browser = await launchChromium([...trustArgs(CERTIFICATE.cert), rules, '--accept-lang=en-US,en']);
    t.after(() => browser.close());
    const page = await browser.newPage();
    await page.goto(`${site.origin}/start`);
    await does(page, `https://other.test:${port}`, `https://www.site.test:${port}`);
    const path = isFirst ? '/start' : '/next';
    const isIt = ({ url, method }: IncomingMessage) => url === path && method === wanted.method;
    const real = site.requests.find(isIt);
    assert.ok(real !== undefined, site.asked.join());

    const major = Number.parseInt(browser.version(), 10);
    const ours = headersFor(chromiumIdentity('HeadlessChrome', LINUX, major), {
      ...wanted,
      url: new URL(`https://${to}:${port}${path}`),
      from: isFirst ? null : `${site.origin}/start`,
      extra: {},
    });
    assert.deepEqual(
      Object.entries(ours).map(([header, value]) => `${header}: ${plain(value)}`),
      headersOf(real).map(([header, value]) => `${header}: ${plain(value)}`),
    );
  });
}

function headersOf({ rawHeaders }: IncomingMessage): [name: string, value: string][] {
  const headers: [string, string][] = [];
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = (rawHeaders[at] ?? '').toLowerCase();
    if (!NOT_OURS.has(name)) headers.push([name, rawHeaders[at + 1] ?? '']);
  }
  return headers;
}

/**
 * Headless has a name and a full version of its own, and takes languages as they were given to it. Our client says what
 * Chromium says since version 156; an older one on this machine does not ask for JPEG XL.
 */
function plain(value: string): string {
  return value
    .replace('image/jxl,', '')
    .replace(/(?:Headless)?Chrome\/(\d+)[\d.]*/, 'Chrome/$1.0.0.0')
    .replace('en-US,en;q=0.9', 'en-US,en');
}
