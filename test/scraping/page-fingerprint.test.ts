import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import fc from 'fast-check';
import { startCounty } from '../../demo/county.ts';
import { apnOf } from '../../demo/parcels.ts';
import { type Failure, failure } from '../../src/domain/failure.ts';
import { isSameLayout } from '../../src/domain/page-layout.ts';
import { defineHttpScraper, fail, type HttpScrapeContext, z } from '../../src/scraping/author.ts';
import { pageFingerprint, seenOn } from '../../src/scraping/page/page-fingerprint.ts';
import { ScrapeFailure } from '../../src/scraping/scrape-failure.ts';
import { Visitor } from '../demo/visitor.ts';
import { anyText } from '../support/any-text.ts';
import { sized } from '../support/sized.ts';
import { contextOf, openSite, webTools } from './http-support.ts';

const PARCEL = (apn: string, owner: string, rows = 3) => `<!DOCTYPE html><html><head><title>Parcel ${apn}</title></head>
<body class="profile"><div id="main"><table id="ctl00_taxes">${'<tr><td>$1</td></tr>'.repeat(rows)}</table>
<p>${owner}</p></div></body></html>`;

function alike(...pages: readonly string[]): void {
  const [first = '', ...others] = pages.map(pageFingerprint);
  for (const [at, other] of others.entries()) assert.ok(isSameLayout(first, other), pages[at + 1] ?? '');
}

function different(...pages: readonly string[]): void {
  const layouts = pages.map(pageFingerprint);
  for (const [at, one] of layouts.entries()) {
    for (const other of layouts.slice(0, at)) assert.ok(!isSameLayout(one, other), pages[at] ?? '');
  }
}

test('a fingerprint is a name and a sample, the same each time', () => {
  for (const page of [PARCEL('123-45-678', 'SMITH'), '', 'no markup', '<']) {
    assert.match(pageFingerprint(page), FINGERPRINT);
    assert.equal(pageFingerprint(page), pageFingerprint(page));
  }
});

const FINGERPRINT = /^[0-9a-f]{12}:[\w-]*$/;

test('pages with the same layout have one fingerprint, whatever they contain and however often', () => {
  const page = PARCEL('123-45-678', 'SMITH');
  const same = [
    PARCEL('999-01-002B', 'JONES'),
    PARCEL('1', 'SMITH', 500),
    page.toUpperCase().replace('SMITH', ''),
    page.replace('ctl00_taxes', 'ctl17_taxes'),
    page.replace('<td>', '<td class="overdue" id="second">'),
    page.replace('<p>', '<!-- <form> --><p>'),
    page.replace('Parcel 123', 'Parcel "of SMITH" 123'),
    page.replaceAll('"', "'"),
    page.replace('"main"', 'main'),
    page.replace('<div id="main">', '<div\n  data-x="a > b"\n  id = "main" >'),
    page.replace('<table', '<table border=0'),
  ];
  for (const other of same) assert.equal(pageFingerprint(other), pageFingerprint(page), other);
});

test('an additional badge, banner, class or section does not make another layout', () => {
  const page = PARCEL('123-45-678', 'SMITH');
  alike(
    page,
    page.replace('<p>', '<span class="badge">New</span><p>'),
    page.replace('<p>', '<div class="badge badge-danger">Delinquent</div><p>'),
    page.replace('<div id="main">', '<div class="alert alert-warning">Pay now</div><div id="main">'),
    page.replace('class="profile"', 'class="profile has-alert"'),
    page.replace('</div>', '<table id="sales"><tr><td>2020</td></tr></table></div>'),
  );
});

test('pages built differently have different layouts', () => {
  different(
    PARCEL('123-45-678', 'SMITH'),
    '<html><head><title>Sign in</title></head><body><form id="login"><input name="user"><button>Go</button></form></body></html>',
    '<html><head><title>Access denied</title></head><body><h1>Access denied</h1><p>Reference 17.8f</p></body></html>',
    '<html><head><title>503 Service Unavailable</title></head><body><center><h1>503</h1></center></body></html>',
    '',
  );
});

test('text that is not markup does not count as markup', () => {
  const page = PARCEL('1', 'SMITH');
  const [script, style, area] = ['script', 'style', 'textarea'].map((name) =>
    page.replace('<p>', `<${name}>a</${name}><p>`),
  );
  alike(script ?? '', page.replace('<p>', '<SCRIPT>if (a<form) document.write("<form>")</SCRIPT><p>'));
  alike(style ?? '', page.replace('<p>', '<style>/* <form> */</style><p>'));
  alike(area ?? '', page.replace('<p>', '<textarea><form></textarea><p>'));
  alike(page, page.replace('SMITH', '1 < 2 <3 & </form>'));
});

test('pages of the demo county share a layout where they are built the same way', async (t) => {
  const county = await startCounty({ parcels: 500 });
  t.after(() => county.close());
  const visitor = new Visitor(county.url);
  const parcels = await Promise.all([0, 1, 2, 3, 77, 410].map((number) => visitor.get(`/parcel/${apnOf(number)}`)));
  alike(...parcels.map(({ text }) => text));
  const seen = [parcels[0]?.text ?? ''];
  // Its pages for maintenance and for what is not found are little more than the frame that all pages have.
  for (const fault of ['block', 'challenge', 'serverError', 'layout']) {
    await fetch(`${county.url}/__control/faults`, { method: 'PUT', body: JSON.stringify({ [fault]: {} }) });
    const pages = await Promise.all([5, 6].map((number) => visitor.get(`/parcel/${apnOf(number)}`)));
    alike(...pages.map(({ text }) => text));
    seen.push(pages[0]?.text ?? '');
  }
  different(...seen);
});

test('any text has a fingerprint', () => {
  const like = fc.string({
    unit: fc.constantFrom(...'<>/="\' !-a1', 'id', 'class', 'div', '<!--', '</script', '<script'),
  });
  fc.assert(
    fc.property(fc.oneof(anyText(), like), (text) => FINGERPRINT.test(pageFingerprint(text))),
    { numRuns: sized({ quick: 150, slow: 500 }) },
  );
});

test('a page made to be slow is processed quickly, and only its beginning counts', () => {
  const size = sized({ quick: 1 << 20, slow: 4 << 20 });
  const fill = (text: string) => text.repeat(Math.ceil(size / text.length));
  const hostile = [
    '<',
    '<a ',
    '<a b="',
    `<a b="' c='" `,
    '<!--',
    '<script>',
    '<title>',
    '<a b ',
    '<a/',
    '= ',
    '<a =',
    '1-',
  ];
  const begunAt = process.cpuUsage().user;
  for (const text of hostile) {
    pageFingerprint(fill(text));
    pageFingerprint(`<div id="${fill(text)}`);
    pageFingerprint(`<div ${fill(text)}`);
    pageFingerprint(`<a b${' '.repeat(size)}${text}`);
    pageFingerprint(fill(`<div class="${'a'.repeat(300)}">`));
  }
  // It takes a quarter of a second. Quadratic work would take minutes.
  assert.ok(process.cpuUsage().user - begunAt < 20e6);
  alike(`<p>${' '.repeat(256 << 10)}`, `<p>${' '.repeat(256 << 10)}<form>`);
});

const Input = z.object({ site: z.string() });
const FACTS = {
  ...{ id: 'county', name: 'County', version: '1.0.0', description: 'A county for tests.' },
  ...{ input: Input, output: z.object({ owner: z.string().min(3) }), hosts: [] },
};
type Context = HttpScrapeContext<z.output<typeof Input>>;

async function failureOf(
  t: TestContext,
  scrape: (context: Context) => Promise<object>,
  parse?: () => { owner: string },
): Promise<Failure> {
  const { origin } = await openSite(t, ({ path }) => (path === '/empty' ? '<html></html>' : PARCEL(path, 'SMITH')));
  const scraper = defineHttpScraper({ ...FACTS, scrape, ...(parse && { parse }) });
  const result = await scraper.scrape(contextOf(webTools(t), { input: { site: origin } }));
  assert.ok(result.kind === 'failed', JSON.stringify(result));
  return result.failure;
}

test('a failure says on which layout it was seen', async (t) => {
  const [parcel, empty] = [pageFingerprint(PARCEL('/1', 'SMITH')), pageFingerprint('<html></html>')];
  const missing = await failureOf(t, async ({ http, input }) => {
    await http.get(`${input.site}/empty`);
    const page = await http.get('/2');
    return { html: page, data: { owner: page.text('#owner') } };
  });
  assert.deepEqual([missing.type, missing.page], ['structure_changed', parcel]);

  const invalid = await failureOf(t, async ({ http, input }) => ({
    html: await http.get(`${input.site}/empty`),
    data: { owner: '' },
  }));
  assert.deepEqual([invalid.type, invalid.page], ['invalid_output', empty]);

  const unreturned = await failureOf(t, async ({ http, input }) => {
    await http.get(`${input.site}/1`);
    return { data: { owner: '' } };
  });
  assert.deepEqual([unreturned.type, unreturned.page], ['invalid_output', parcel]);
});

test('a failure to parse names the page that was parsed, not the last one', async (t) => {
  const parsed = await failureOf(
    t,
    async ({ http, input }) => {
      const html = await http.get(`${input.site}/empty`);
      await http.get('/1');
      return { html };
    },
    () => fail('structure_changed', 'no owner'),
  );
  assert.deepEqual([parsed.type, parsed.page], ['structure_changed', pageFingerprint('<html></html>')]);
});

test('a failure before there was a page names none', async (t) => {
  const early = await failureOf(t, async () => fail('navigation_failed', 'nowhere to go'));
  assert.deepEqual(early, { type: 'navigation_failed', message: 'nowhere to go', cause: null, retryAfterMs: null });
  const odd = await failureOf(t, async () => ({ html: { body: 5 }, data: {} }));
  assert.deepEqual([odd.type, 'page' in odd], ['unexpected', false]);
  assert.match(odd.message, /html is neither a page nor a text/);
});

test('a failure that already names its page keeps it, and an error that is not a failure stays as it is', () => {
  const page = { body: PARCEL('1', 'SMITH') };
  const told = new ScrapeFailure(failure('blocked', 'refused', { page: '0123456789ab' }));
  assert.equal(seenOn(page, told), told);
  const bug = new TypeError('a bug');
  assert.equal(seenOn(page, bug), bug);
  const untold = new ScrapeFailure(failure('blocked', 'refused', { retryAfterMs: 5, cause: 'a' }));
  const seen = seenOn(page, untold);
  assert.ok(seen instanceof ScrapeFailure);
  assert.deepEqual(seen.failure, { ...untold.failure, page: pageFingerprint(page.body) });
});
