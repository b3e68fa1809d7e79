import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { apnOf } from '../../../demo/apn.ts';
import demoCounty from '../../../scrapers/demo/county.ts';
import { systemClock } from '../../../src/adapters/system/clock.ts';
import { parseRecording } from '../../../src/domain/recording/parse-recording.ts';
import type { Engine } from '../../../src/domain/recording/recording.ts';
import { SAMPLE } from '../../../src/scraping/actions/engine-choice.ts';
import { recordingScraper } from '../../../src/scraping/actions/recording-scraper.ts';
import type { ScrapeLog, ScrapeResult, Scraper } from '../../../src/scraping/scraper.ts';
import { visitCounty } from '../../scraping/demo-support.ts';
import { openSite } from '../../scraping/http-support.ts';
import { sized } from '../../support/sized.ts';
import { browserContext, browserTools, dataOf, failureOf } from '../kit-support.ts';

const FILE = new URL('../../../scrapers/demo/county-recorded.recording.json', import.meta.url);
const clock = systemClock();
const sizes = sized({ quick: { http: 20, browser: 3 }, slow: { http: 2000, browser: 300 } });

function recorded(document: object): Scraper {
  const parsed = parseRecording(document);
  assert.ok(parsed.ok, JSON.stringify(parsed));
  return recordingScraper(parsed.recording);
}

function countyRecording(engine: Engine): Scraper {
  return recorded({ ...JSON.parse(readFileSync(FILE, 'utf8')), engine });
}

function factsOf({ facts }: ScrapeResult) {
  const { recording } = facts as {
    recording: {
      engine: string;
      why?: string;
      failed_step?: string;
      steps: { step: string; alternative: number | null }[];
    };
  };
  return recording;
}

function hasDocument(result: ScrapeResult): boolean {
  return result.artifacts?.some(({ kind }) => kind === 'document') === true;
}

test('over HTTP, the recording of the demo county reads what the scraper written for it reads', async (t) => {
  const { scrape } = await visitCounty(t);
  const scraper = countyRecording('http');
  for (let n = 0; n < sizes.http; n += 1) {
    const apn = apnOf(n);
    const [one, other] = [await scrape(scraper, { apn }), await scrape(demoCounty, { apn, bill: false })];
    assert.deepEqual(dataOf(one), dataOf(other), apn);
    assert.ok(hasDocument(one));
  }
  const { type, message } = failureOf(await scrape(scraper, { apn: '999-99-999' }));
  assert.equal(type, 'no_results');
  assert.equal(message, 'step 5.then.1, stop: the county has no parcel 999-99-999');
});

test('in a browser, it reads the same', async (t) => {
  const { county, scrape, web } = await visitCounty(t);
  const browser = browserTools({ routes: `http://demo-county.test=${county.url}`, t });
  const scraper = countyRecording('browser');
  for (let n = 0; n < sizes.browser; n += 1) {
    const apn = apnOf(n);
    const given = liveContext(t, browser, { apn });
    const context = { ...given, tools: { ...given.tools, web } };
    const result = await scraper.scrape({ ...context, withInput: (input) => ({ ...context, input }) });
    assert.deepEqual(dataOf(result), dataOf(await scrape(demoCounty, { apn, bill: false })), apn);
    assert.ok(hasDocument(result));
    assert.equal(factsOf(result).engine, 'browser');
  }
});

function liveContext(
  t: TestContext,
  browser: ReturnType<typeof browserTools>,
  input: Record<string, string>,
  log?: ScrapeLog,
) {
  return browserContext(t, browser, {
    input,
    now: () => clock.now(),
    sleep: (ms: number) => clock.sleep(ms, t.signal),
    ...(log !== undefined && { log }),
  });
}

const LISTED = (button: string) => `<form action=/found><input id=q name=q><button id=${button}>Search</button></form>`;
const SEARCH = [
  { type: 'fill', selectors: ['#q'], value: '{{input.apn}}' },
  { type: 'click', selectors: ['#search', 'aria/Search[role="button"]'], navigation: {} },
  { type: 'extractText', selectors: ['#owner'], field: 'owner' },
];

test('a button that changes its id is found by the second alternative, and the item says so', async (t) => {
  let button = 'search';
  const site = await openSite(t, ({ path, query }) =>
    path === '/found' ? `<p id=owner>owner of ${query.get('q')}</p>` : LISTED(button),
  );
  const steps = [{ type: 'goto', url: site.origin }, ...SEARCH];
  const browser = browserTools({ t });
  for (const engine of ['http', 'browser'] as const) {
    const scraper = recorded({ id: 'drift', hosts: [site.host], engine, steps });
    for (const [id, alternative] of [
      ['search', 1],
      ['search-2', 2],
    ] as const) {
      button = id;
      const result = await scraper.scrape(liveContext(t, browser, { apn: '7' }));
      assert.deepEqual(dataOf(result), { owner: 'owner of 7' });
      assert.equal(factsOf(result).steps.find(({ step }) => step === '3')?.alternative, alternative, `${engine} ${id}`);
    }
  }
});

test('auto stops using the browser after equal items, and returns to it for an item that fails over HTTP', async (t) => {
  const site = await openSite(t, ({ path, query }) => {
    if (path !== '/found') return LISTED('search');
    if (query.get('q') !== 'odd') return `<p id=owner>owner of ${query.get('q')}</p>`;
    return `<body><script>document.body.innerHTML = '<p id=owner>made</p>'</script>`;
  });
  const browser = browserTools({ t });
  const scraper = recorded({ id: 'auto', hosts: [site.host], steps: [{ type: 'goto', url: site.origin }, ...SEARCH] });
  const engines: string[] = [];
  for (let n = 0; n <= SAMPLE; n += 1) {
    const result = await scraper.scrape(liveContext(t, browser, { apn: String(n) }));
    assert.deepEqual(dataOf(result), { owner: `owner of ${n}` });
    engines.push(factsOf(result).engine);
  }
  assert.deepEqual(engines, [...Array.from({ length: SAMPLE }, () => 'browser'), 'http']);
  const odd = await scraper.scrape(liveContext(t, browser, { apn: 'odd' }));
  assert.deepEqual(dataOf(odd), { owner: 'made' });
  assert.match(factsOf(odd).why ?? '', /^over HTTP: step 4, read the text of #owner/);
});

test('auto stays in the browser where a script is needed, and names the step', async (t) => {
  const site = await openSite(
    t,
    () => `<p id=owner></p><div id=show>show</div><script>
    document.getElementById('show').addEventListener('click', () => { document.getElementById('owner').textContent = 'ANN'; });</script>`,
  );
  const browser = browserTools({ t });
  const steps = [
    { type: 'goto', url: site.origin },
    { type: 'click', selectors: ['#show'] },
    { type: 'extractText', selectors: ['#owner'], field: 'owner' },
  ];
  const sampled = recorded({ id: 'scripted', hosts: [site.host], steps });
  const result = await sampled.scrape(liveContext(t, browser, { apn: '1' }));
  assert.deepEqual(dataOf(result), { owner: 'ANN' });
  assert.match(factsOf(result).why ?? '', /^over HTTP: step 2, click #show: only a script can react/);
  const planned = recorded({
    id: 'hovered',
    hosts: [site.host],
    steps: [...steps, { type: 'hover', selectors: ['#show'] }],
  });
  const said: object[] = [];
  const log = { debug() {}, warn() {}, info: (fields: object) => void said.push(fields) };
  for (const apn of ['1', '2']) {
    const other = await planned.scrape(liveContext(t, browser, { apn }, log));
    assert.match(factsOf(other).why ?? '', /^step 4 \(hover\) needs a browser/);
  }
  assert.deepEqual(said, [
    { engine: 'browser', why: 'step 4 (hover) needs a browser: only scripts react to the mouse over an element' },
  ]);
});
