import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { systemClock } from '../../../src/adapters/system/clock.ts';
import { importRecording } from '../../../src/domain/recording/import/import-recording.ts';
import { parseRecording } from '../../../src/domain/recording/parse-recording.ts';
import { recordingScraper } from '../../../src/scraping/actions/recording-scraper.ts';
import { openSite } from '../../scraping/http-support.ts';
import { browserContext, browserTools, dataOf } from '../kit-support.ts';

const browser = browserTools();
const clock = systemClock();

/** Notes whatever happens to it, and hands the notes over with its form. */
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

/** As the Recorder writes it: without some offsets, with one that is outside of its element, with a pop-up as a target. */
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
