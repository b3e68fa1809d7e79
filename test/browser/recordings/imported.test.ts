import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { systemClock } from '../../../src/adapters/system/clock.ts';
import { importRecording } from '../../../src/domain/recording/import/import-recording.ts';
import { parseRecording } from '../../../src/domain/recording/parse-recording.ts';
import { recordingScraper } from '../../../src/scraping/actions/recording-scraper.ts';
import { recordCase } from '../../../src/scraping/fixtures/record-case.ts';
import { runFixture } from '../../../src/scraping/fixtures/test-scrapers.ts';
import { openSite } from '../../scraping/http-support.ts';
import { browserContext, browserTools, dataOf } from '../kit-support.ts';

const browser = browserTools();
const clock = systemClock();

/** A page that notes whatever happens to it, and submits the notes with its form. */
const MODEL = `<!doctype html><title>Model</title>
<county-card></county-card>
<form action=/result><input id=apn name=apn aria-label="Parcel number"><input type=hidden name=log id=log>
<select id=county name=county><option value=a>A<option value=b>B</select></form>
<p id=menu>menu</p><button id=twice>twice</button><button id=pop>pop</button>
<iframe src=/outer width=400 height=200></iframe>
<script>
window.note = (what) => { document.getElementById('log').value += what + ';'; };
const shadow = (host, html) => { const root = host.attachShadow({ mode: 'open' }); root.innerHTML = html; return root; };
const card = shadow(document.querySelector('county-card'), '<section><pay-button></pay-button></section>');
shadow(card.querySelector('pay-button'), '<button id=open>Open</button>').getElementById('open').onclick = () => note('shadow');
document.getElementById('menu').addEventListener('mouseover', () => note('hover'), { once: true });
document.getElementById('twice').addEventListener('dblclick', () => note('twice'));
document.getElementById('pop').onclick = () => window.open('/popup');
document.getElementById('apn').addEventListener('keydown', ({ key, shiftKey }) => note('key ' + key + (shiftKey ? ' shifted' : '')));
</script>`;

const PAGES: Readonly<Record<string, string>> = {
  '/model': MODEL,
  '/outer': `<input id=q onchange="top.note('frame ' + this.value)"><iframe src=/inner width=200 height=80></iframe>`,
  '/inner': `<button id=deep onclick="top.note('deep')">Deep</button>`,
  '/popup': `<title>Popup</title><button onclick="opener.note('paid')">Pay</button>`,
};

function openModel(t: TestContext) {
  return openSite(t, ({ path, query }) => {
    if (path !== '/result') return PAGES[path] ?? { status: 404, body: 'nothing' };
    return `<title>Result</title>${['apn', 'county', 'log'].map((name) => `<p id=${name}>${query.get(name)}</p>`).join('')}`;
  });
}

/** An export as the Recorder writes it: some offsets missing, one outside of its element, a pop-up as a target. */
function exportOf(origin: string): string {
  const key = (type: 'keyDown' | 'keyUp', name: string, more = {}) => ({ type, target: 'main', key: name, ...more });
  const main = { target: 'main' };
  return JSON.stringify({
    title: 'Model',
    steps: [
      {
        type: 'setViewport',
        width: 1200,
        height: 800,
        deviceScaleFactor: 1,
        isMobile: false,
        hasTouch: false,
        isLandscape: false,
      },
      {
        type: 'navigate',
        url: `${origin}/model`,
        assertedEvents: [{ type: 'navigation', url: `${origin}/model`, title: 'Model' }],
      },
      {
        ...{ type: 'click', ...main, offsetX: 900, offsetY: 700 },
        selectors: [
          ['county-card', 'pay-button', '#gone'],
          ['county-card', 'pay-button', 'aria/Open'],
        ],
      },
      { type: 'change', ...main, frame: [0], selectors: [['#q']], value: 'typed' },
      { type: 'click', ...main, frame: [0, 0], selectors: [['aria/Deep'], ['#deep']], offsetX: 3, offsetY: 3 },
      { type: 'hover', ...main, selectors: [['text/menu']] },
      { type: 'change', ...main, selectors: [['#county']], value: 'b' },
      { type: 'doubleClick', ...main, selectors: [['xpath///*[@id="twice"]']], offsetX: 2, offsetY: 2 },
      { type: 'click', ...main, selectors: [['pierce/#pop']], offsetX: 2, offsetY: 2 },
      { type: 'waitForElement', target: `${origin}/popup`, selectors: ['button'], operator: '>=', count: 1 },
      { type: 'click', target: `${origin}/popup`, selectors: [['aria/Pay']], offsetX: 2, offsetY: 2 },
      { type: 'close', target: `${origin}/popup` },
      { type: 'change', ...main, selectors: [['aria/Parcel number']], value: '101-02-003' },
      { type: 'click', ...main, selectors: [['aria/Parcel number'], ['#apn']] },
      key('keyDown', 'End'),
      key('keyUp', 'End'),
      key('keyDown', 'Shift'),
      key('keyDown', 'A'),
      key('keyUp', 'A'),
      key('keyUp', 'Shift'),
      key('keyDown', 'Enter', { assertedEvents: [{ type: 'navigation', url: `${origin}/result`, title: 'Result' }] }),
      key('keyUp', 'Enter'),
    ],
  });
}

test('an export of the Chrome Recorder runs: shadow roots, frames, a pop-up and keys reach the page', async (t) => {
  const site = await openModel(t);
  const imported = importRecording(exportOf(site.origin), { id: 'model', parameterize: true });
  assert.ok(imported.ok, imported.ok ? '' : imported.problem);
  assert.deepEqual(imported.lost, []);
  assert.deepEqual(
    imported.parameters.map(({ name, value }) => [name, value]),
    [
      ['q', 'typed'],
      ['parcel_number', '101-02-003'],
    ],
  );
  const reading = ['apn', 'county', 'log'].map((id) => ({ type: 'extractText', selectors: [`#${id}`], field: id }));
  const parsed = parseRecording({
    ...imported.recording,
    engine: 'browser',
    steps: [...imported.recording.steps, ...reading],
  });
  assert.ok(parsed.ok, JSON.stringify(parsed));

  const input = { q: 'other', parcel_number: '777-77-777' };
  const context = browserContext(t, browser, {
    input,
    now: () => clock.now(),
    sleep: (ms: number) => clock.sleep(ms, t.signal),
  });
  const result = await recordingScraper(parsed.recording).scrape(context);
  assert.equal(result.kind, 'scraped', result.kind === 'failed' ? result.failure.message : '');
  assert.deepEqual(dataOf(result), {
    apn: '777-77-777A',
    county: 'b',
    log: 'shadow;frame other;deep;hover;twice;paid;key End;key Shift shifted;key A shifted;key Enter;',
  });
});

/** The page that the file of Playwright's codegen was made on; it says what it was sent, and how. */
const CODEGEN: Readonly<Record<string, string>> = {
  '/': `<!doctype html><title>S</title><form action=/list><label for=p>Parcel number</label><input id=p name=p>
<select name=y aria-label=Year><option value=1>One<option value=2>Two</select><label><input type=checkbox name=c>Paid</label>
<input type=hidden name=log id=log><button>Search</button></form><a href=/pop target=_blank rel=opener>terms</a>
<iframe name=help src=/help></iframe><button onclick="note(confirm('sure') ? 'yes' : 'no')">Ask</button><x-card></x-card>
<script>window.note = (what) => { document.getElementById('log').value += what + ';'; };
customElements.define('x-card', class extends HTMLElement { connectedCallback() {
  const root = this.attachShadow({ mode: 'open' }); root.innerHTML = '<button>Pay</button>';
  root.querySelector('button').onclick = () => note('paid'); } });</script>`,
  '/pop': `<button onclick="opener.note('agreed')">I agree</button>`,
  '/help': `<input placeholder=Ask><button onclick="parent.note('helped')">Help me</button>`,
};

test("a file that Playwright's codegen wrote runs: a shadow root, a frame, a pop-up, a dialog and a download", async (t) => {
  const site = await openSite(t, ({ path, query }) => {
    if (path === '/f.pdf') return { headers: { 'content-type': 'application/pdf' }, body: '%PDF-1.7 made by hand' };
    if (path !== '/list') return CODEGEN[path] ?? { status: 404, body: 'nothing' };
    return `<p id=sent>${['p', 'y', 'c', 'log'].map((name) => query.get(name)).join(' ')}</p><a href=/f.pdf download>Bill</a>`;
  });
  const file = new URL('../../domain/recording/exports/playwright-codegen.jsonl', import.meta.url);
  const text = readFileSync(file, 'utf8').replaceAll('https://county.example.gov', site.origin);
  const imported = importRecording(text, { id: 'codegen', parameterize: true });
  assert.ok(imported.ok, imported.ok ? '' : imported.problem);
  assert.deepEqual(imported.lost, []);
  const { recording } = imported;
  const steps = [...recording.steps, { type: 'extractText', selectors: ['#sent'], field: 'sent' }];
  const parsed = parseRecording({ ...recording, engine: 'browser', steps });
  assert.ok(parsed.ok, JSON.stringify(parsed));
  const context = browserContext(t, browser, {
    ...{ input: { parcel_number: '777' }, now: () => clock.now(), sleep: (ms: number) => clock.sleep(ms, t.signal) },
  });
  const result = await recordingScraper(parsed.recording).scrape(context);
  assert.equal(result.kind, 'scraped', result.kind === 'failed' ? result.failure.message : '');
  assert.deepEqual(dataOf(result), { sent: '777 2 on paid;no;helped;agreed;' });
  assert.ok(result.artifacts?.some(({ kind }) => kind === 'document'));
});

test('a case of a recording is played offline, on both engines of auto', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'trawl-case-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  let isOpen = true;
  const site = await openSite(t, ({ path, query, cookies }) => {
    assert.ok(isOpen, 'the site was asked');
    // A consent page, as counties have them: the cookie of a redirect is asked for by the next one.
    if (path === '/agree') return { status: 302, headers: { location: '/search', 'set-cookie': 'agreed=1; Path=/' } };
    if (!cookies.has('agreed')) return '<form action=/agree method=post><button>Agree</button></form>';
    if (path === '/found') return `<p id=owner>owner of ${query.get('q')}</p>`;
    return '<form action=/found><input id=q name=q><button>Search</button></form>';
  });
  const parsed = parseRecording({
    ...{ id: 'auto', hosts: [site.host] },
    steps: [
      { type: 'goto', url: site.origin },
      { type: 'click', selectors: ['role/button[name="Agree"]'], navigation: {} },
      { type: 'fill', selectors: ['#q'], value: '{{input.apn}}' },
      { type: 'click', selectors: ['role/button[name="Search"]'], navigation: {} },
      { type: 'extractText', selectors: ['#owner'], field: 'owner' },
    ],
  });
  assert.ok(parsed.ok, JSON.stringify(parsed));
  const scraper = recordingScraper(parsed.recording);
  const file = join(folder, 'auto.recording.json');
  const browsers = { open: async () => browser, close: async () => {} };
  const { tools } = browserContext(t, browser);
  const asked = { name: 'one', input: { apn: '7' }, expectFailure: false };
  const recorded = await recordCase(scraper, file, asked, { tools, clock, signal: t.signal, browsers });
  assert.ok(recorded.kind === 'recorded', JSON.stringify(recorded));
  assert.deepEqual([recorded.differences, recorded.written.expect], [[], { data: { owner: 'owner of 7' } }]);
  isOpen = false;
  const [report] = await runFixture(scraper, file, clock, browsers);
  assert.deepEqual(report?.differences, []);
});
