import type { WrittenRecording } from '../../domain/recording/recording.ts';

/** The files of a new scraper: small, working, and tested by its own fixture from the first minute. */
interface NewFile {
  /** Below the folder of the scraper. */
  readonly path: string;
  readonly text: string;
}

export const NEW_KINDS = ['http', 'browser', 'recording'] as const;
export type NewKind = (typeof NEW_KINDS)[number];

export function scraperTemplate(id: string, host: string, kind: NewKind): readonly NewFile[] {
  return [
    ...ownFiles(id, host, kind),
    { path: `${id}.fixture/1-detail.html`, text: DETAIL },
    { path: `${id}.fixture/cases.json`, text: `${JSON.stringify(cases(host), null, 2)}\n` },
  ];
}

function ownFiles(id: string, host: string, kind: NewKind): readonly NewFile[] {
  switch (kind) {
    case 'http':
      return [
        { path: `${id}.ts`, text: code(id, host) },
        { path: `${id}.test.ts`, text: test(id) },
      ];
    case 'browser':
      // Without a test of its own: its cases need a browser, which `trawl scrapers test` opens.
      return [{ path: `${id}.ts`, text: browserCode(id, host) }];
    case 'recording':
      // Without code there is nothing to import a test with; `trawl scrapers test` plays its cases.
      return [{ path: `${id}.recording.json`, text: `${JSON.stringify(recording(id, host), null, 2)}\n` }];
  }
}

function recording(id: string, host: string): WrittenRecording {
  return {
    id,
    name: titleOf(id),
    version: '0.1.0',
    description: `Owner and tax of a parcel, from ${host}.`,
    hosts: [host],
    // `auto` compares it with a browser first, for which its cases would need one.
    engine: 'http',
    steps: [
      { type: 'goto', url: `https://${host}/search` },
      { type: 'fill', selectors: ['#search [name=parcel]'], value: '{{input.apn}}' },
      { type: 'click', selectors: ['role/button[name="Search"]', '#search button'], navigation: {} },
      {
        type: 'if',
        condition: { type: 'text', text: 'No records found' },
        then: [{ type: 'stop', outcome: 'no_results' }],
      },
      { type: 'assertSameItem', selectors: ['#parcel'], value: '{{input.apn}}' },
      { type: 'extractText', selectors: ['#parcel'], field: 'apn' },
      { type: 'extractText', selectors: ['#owner'], field: 'owner' },
      { type: 'extractMoney', selectors: ['#total-tax'], field: 'total_tax' },
    ],
  };
}

function code(id: string, host: string): string {
  return `import { defineHttpScraper, expect, z } from 'trawl/scraper';

export default defineHttpScraper({
  id: '${id}',
  name: '${titleOf(id)}',
  version: '0.1.0',
  description: 'Owner and tax of a parcel, from ${host}.',
  input: z.strictObject({ apn: z.string().min(1) }),
  output: z.object({ apn: z.string(), owner: z.string(), total_tax: z.number() }),
  // Requests to any other host fail, redirects too.
  hosts: ['${host}'],

  async scrape({ input, http }) {
    const search = await http.get('https://${host}/search');
    const page = await search.form('#search').fill({ parcel: input.apn }).submit();
    return { html: page };
  },

  // Separate from scrape: if it fails the page is kept, and a repaired version can read it without a request.
  parse({ page, input }) {
    const data = {
      apn: page.text('#parcel'),
      owner: page.text('#owner'),
      total_tax: page.money('#total-tax'),
    };
    // Some sites answer with another parcel than the one that was asked for.
    expect.sameItem(data.apn, input.apn);
    return data;
  },
});
`;
}

function browserCode(id: string, host: string): string {
  const scrape = `  async scrape({ input, page, tab }) {
    await tab.goto('https://${host}/search', { expectElement: '#search' });
    await page.fill('#search [name=parcel]', input.apn);
    await page.click('#search button');
    await tab.waitFor({ element: '#parcel' }, { text: 'No records found' });
    return { html: await tab.read() };
  },`;
  return code(id, host)
    .replaceAll('defineHttpScraper', 'defineBrowserScraper')
    .replace(
      '  // Requests to any other host fail, redirects too.',
      '  // Pages of any other host are refused, redirects too.',
    )
    .replace(/ {2}async scrape\([\s\S]*?\n {2}\},/, scrape);
}

function test(id: string): string {
  return `import { test } from 'node:test';
import { certify } from 'trawl/scraper';

const SCRAPER = new URL('./${id}.ts', import.meta.url);

test('its recorded pages give the data that its fixture expects', () => certify(SCRAPER));
`;
}

const DETAIL = `<!doctype html>
<html lang="en">
  <head><title>Parcel 100-20-300</title></head>
  <body>
    <h1>Parcel <span id="parcel">100-20-300</span></h1>
    <table>
      <tr><th>Owner</th><td id="owner">SMITH JANE</td></tr>
      <tr><th>Total tax</th><td id="total-tax">$1,129.60</td></tr>
    </table>
  </body>
</html>
`;

const SEARCH = `<!doctype html>
<title>Parcel search</title>
<form id="search" method="post" action="/parcel"><input name="parcel"><button>Search</button></form>
`;

const NOTHING = `<!doctype html>
<title>Parcel search</title>
<p>No records found.</p>
`;

function cases(host: string) {
  const headers = { 'content-type': 'text/html; charset=utf-8' };
  const search = {
    request: { method: 'GET', url: `https://${host}/search` },
    response: { status: 200, headers, body: SEARCH },
  };
  const submit = (parcel: string) => ({ method: 'POST', url: `https://${host}/parcel`, body: { parcel } });
  return {
    cases: [
      {
        name: 'a parcel',
        input: { apn: '100-20-300' },
        expect: { data: { apn: '100-20-300', owner: 'SMITH JANE', total_tax: 1129.6 } },
        exchanges: [
          search,
          { request: submit('100-20-300'), response: { status: 200, headers, body_file: '1-detail.html' } },
        ],
      },
      {
        name: 'no such parcel',
        input: { apn: '999-99-999' },
        expect: { failure: 'no_results' },
        exchanges: [search, { request: submit('999-99-999'), response: { status: 200, headers, body: NOTHING } }],
      },
    ],
  };
}

/** `maricopa-az` is called Maricopa Az until its author changes that. */
function titleOf(id: string): string {
  return id
    .split('-')
    .map((word) => `${word.slice(0, 1).toUpperCase()}${word.slice(1)}`)
    .join(' ');
}
