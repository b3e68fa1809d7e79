import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Page } from 'playwright-core';
import { systemClock } from '../../../src/adapters/system/clock.ts';
import { describeSteps } from '../../../src/domain/recording/describe-step.ts';
import { parseRecording } from '../../../src/domain/recording/parse-recording.ts';
import { composeRecorded, type RecordedByHand } from '../../../src/domain/recording/record/compose-recorded.ts';
import type { Engine, Recording } from '../../../src/domain/recording/recording.ts';
import { recordVisit } from '../../../src/scraping/actions/recorder/record-visit.ts';
import { recordingScraper } from '../../../src/scraping/actions/recording-scraper.ts';
import { NO_LOG } from '../../../src/scraping/fixtures/run-case.ts';
import { openSite } from '../../scraping/http-support.ts';
import { browserContext, browserTools, dataOf } from '../kit-support.ts';

const browser = browserTools();
const clock = systemClock();

/** Records what `act` does in the page, as a person would. */
async function record(t: TestContext, url: string, act: (page: Page) => Promise<void>, parameterize = true) {
  const acting = Promise.withResolvers<void>();
  const visit = await recordVisit({
    ...{ browser, log: NO_LOG, url, signal: t.signal, now: () => clock.now() },
    onOpen: (page) => {
      act(page)
        // Closing its window ends the recording.
        .finally(async () => {
          for (const each of page.context().pages()) await each.close();
        })
        .then(acting.resolve, acting.reject);
    },
  });
  await acting.promise;
  return composeRecorded(visit, { id: 'recorded', parameterize });
}

/** Carries a recording out with other values, and returns what it read. */
async function replay(
  t: TestContext,
  { recording }: RecordedByHand,
  engine: Engine,
  input: Readonly<Record<string, string>>,
  fields: readonly string[],
) {
  const reading = fields.map((id) => ({ type: 'extractText', selectors: [`#${id}`], field: id }));
  const read = parseRecording({ ...recording, engine, steps: [...recording.steps, ...reading] });
  assert.ok(read.ok, JSON.stringify(read));
  const context = browserContext(t, browser, {
    ...{ input, now: () => clock.now(), sleep: (ms: number) => clock.sleep(ms, t.signal) },
  });
  const result = await recordingScraper(read.recording).scrape(context);
  assert.equal(result.kind, 'scraped', result.kind === 'failed' ? `${engine}: ${result.failure.message}` : '');
  return { data: dataOf(result), kinds: result.artifacts?.map(({ kind }) => kind) ?? [] };
}

function parsed({ recording }: RecordedByHand): Recording {
  const read = parseRecording(recording);
  assert.ok(read.ok, JSON.stringify(read));
  return read.recording;
}

function linesOf(recorded: RecordedByHand): readonly string[] {
  return describeSteps(parsed(recorded));
}

const COUNTY: Readonly<Record<string, string>> = {
  '/': `<!doctype html><title>Search</title><h1>Search</h1>
<p>Read the <a href=/terms target=_blank>terms</a> first.</p>
<form action=/list method=post>
  <label for=parcel>Parcel number</label><input id=parcel name=parcel>
  <label>Notes <textarea name=notes></textarea></label>
  <label for=year>Year</label><select id=year name=year><option value=2024>2024<option value=2025>2025<option value=2026>2026</select>
  <label><input type=checkbox name=paid value=yes> Paid only</label>
  <input type=radio name=kind id=real value=real checked><input type=radio name=kind id=mobile value=mobile><label for=mobile>Mobile home</label>
  <label for=pin>PIN</label><input type=password id=pin name=pin>
  <button>Search</button></form>
<iframe name=help src=/help width=400 height=80></iframe>`,
  '/terms': '<!doctype html><title>Terms</title><form action=/agreed method=post><button>I agree</button></form>',
  '/agreed': '<!doctype html><title>Agreed</title><p>Thank you</p>',
  '/help': '<!doctype html><form action=/helped><input name=q aria-label="Ask"><button>Help me</button></form>',
  '/helped': '<!doctype html><p>Read the manual</p>',
};

/** A county that notes everything it was sent. */
function openCounty(t: TestContext, received: string[]) {
  return openSite(t, ({ path, method, query, form }) => {
    const sent = [...(method === 'POST' ? form : query)].map(([name, value]) => `${name}=${value}`).join('&');
    if (path !== '/favicon.ico') received.push(`${path} ${sent}`.trim());
    if (path === '/list') {
      const parcel = form.get('parcel') ?? '';
      const rows = [`${parcel}0`, parcel].map((each) => `<tr><td><a href="/detail?id=${each}">${each}</a><td>x`);
      return `<!doctype html><title>List</title><table id=found>${rows.join('')}</table>`;
    }
    if (path === '/detail')
      return `<!doctype html><title>Detail</title><h1>Detail</h1><p id=shown>${query.get('id')}</p><a href=/bill.pdf>Tax bill</a>`;
    if (path === '/bill.pdf') {
      return { headers: { 'content-type': 'application/pdf' }, body: `%PDF-1.7\n${'x'.repeat(2000)}\n%%EOF\n` };
    }
    return COUNTY[path] ?? { status: 404, body: 'nothing' };
  });
}

test('what a person does is recorded, and runs for another item on both engines', async (t) => {
  const received: string[] = [];
  const site = await openCounty(t, received);
  const recorded = await record(t, `${site.origin}/`, async (page) => {
    const [terms] = await Promise.all([page.waitForEvent('popup'), page.getByText('terms').click()]);
    await terms.getByText('I agree').click();
    await terms.getByText('Thank you').waitFor();
    await terms.close();
    const help = page.frameLocator('iframe');
    await help.getByLabel('Ask').click();
    await page.keyboard.type('how?');
    await help.getByText('Help me').click();
    await help.getByText('Read the manual').waitFor();
    await page.getByLabel('Parcel number').click();
    await page.keyboard.type('101-02-00');
    await page.keyboard.press('Backspace');
    await page.keyboard.type('03');
    await page.getByText('Notes').click();
    await page.keyboard.type('two\nlines');
    await page.locator('#year').focus();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    await page.getByText('Paid only').click();
    await page.getByText('Mobile home').click();
    await page.getByLabel('PIN').click();
    await page.keyboard.type('hunter2');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/list');
    await page.getByText('101-02-003', { exact: true }).click();
    await page.waitForURL('**/detail?*');
    const bill = page.waitForEvent('download');
    await page.getByText('Tax bill').click();
    await bill;
  });

  const text = JSON.stringify(recorded);
  assert.ok(!text.includes('hunter2'), 'a password was recorded');
  assert.deepEqual(linesOf(recorded), [
    `1. goto ${site.origin}/`,
    '2. click link "terms"',
    '3. switch to the latest tab',
    '4. click button "I agree"',
    '5. close the tab',
    '6. fill "Ask" with "{{input.ask}}"',
    '7. click button "Help me"',
    '8. fill "Parcel number" with "{{input.parcel_number}}"',
    '9. fill textarea[name="notes"] with "{{input.notes}}"',
    '10. select "{{input.year}}" in "Year"',
    '11. check "Paid only"',
    '12. check "Mobile home"',
    '13. fill "PIN" with "{{input.password}}"',
    '14. press Enter in "PIN"',
    '15. click link "{{input.parcel_number}}"',
    '16. keep the download of link "Tax bill"',
  ]);
  const led = parsed(recorded)
    .steps.map((step, index) => ('navigation' in step ? index + 1 : 0))
    .filter(Boolean);
  assert.deepEqual(led, [4, 14, 15]);
  assert.deepEqual(recorded.recording.hosts, [site.host]);
  assert.deepEqual(recorded.notes, []);

  for (const engine of ['http', 'browser'] as const) {
    received.length = 0;
    const input = { parcel_number: '777-77-777', password: 'secret', notes: 'a note', ask: 'why?', year: '2025' };
    const { data, kinds } = await replay(t, recorded, engine, input, ['shown']);
    assert.deepEqual(data, { shown: '777-77-777' });
    assert.ok(kinds.includes('document'), engine);
    assert.deepEqual(
      received.filter((each) => /^\/(?:agreed|helped|list|detail|bill)/.test(each)),
      [
        '/agreed',
        '/helped q=why?',
        '/list parcel=777-77-777&notes=a note&year=2025&paid=yes&kind=mobile&pin=secret',
        '/detail id=777-77-777',
        '/bill.pdf',
      ],
      engine,
    );
  }
});

const SCRIPTED = `<!doctype html><title>Scripted</title><pay-card id=card></pay-card>
<button id=delete>Delete</button><button id=rename>Rename</button><p id=log></p><div id=edit contenteditable aria-label=Memo role=textbox></div>
<div id=menu data-test=menu>Menu</div><span class=twice>Twice</span><input id=who aria-label=Who><input type=file aria-label=Scan>
<a id=react-123456 href=#more>More</a>
<script>
const log = document.getElementById('log');
const note = (what) => { log.textContent += what + ';'; };
const root = document.getElementById('card').attachShadow({ mode: 'open' });
root.innerHTML = '<section><button>Pay</button></section>';
root.querySelector('button').onclick = () => note('paid');
document.getElementById('delete').onclick = () => note(confirm('Sure?') ? 'deleted' : 'kept');
document.getElementById('rename').onclick = () => note(prompt('Name?'));
document.getElementById('menu').addEventListener('click', () => { note('menu'); document.getElementById('who').value = 'by script'; });
document.querySelector('.twice').addEventListener('dblclick', () => note('twice'));
document.getElementById('edit').addEventListener('input', ({ target }) => { window.memo = target.innerText; });
document.getElementById('who').addEventListener('keydown', ({ key }) => { if (key === 'Escape') note('escaped ' + window.memo); });
</script>`;

test('shadow roots, dialogs, double clicks and keys are recorded; files and noise are not', async (t) => {
  const site = await openSite(t, () => SCRIPTED);
  const recorded = await record(
    t,
    `${site.origin}/`,
    async (page) => {
      const answers = [['dismiss'], ['accept', 'Zoe']] as const;
      const answering: Promise<void>[] = [];
      let asked = 0;
      page.on('dialog', (dialog) => {
        const [how, text] = answers[asked] ?? ['accept'];
        asked += 1;
        const done = how === 'dismiss' ? dialog.dismiss() : dialog.accept(text);
        answering.push(done);
      });
      await page.getByText('Pay').click();
      await page.locator('#delete').click();
      await page.locator('#rename').click();
      await page.getByLabel('Memo').click();
      await page.keyboard.type('hello');
      await page.getByText('Menu').click();
      await page.locator('.twice').dblclick();
      await page.getByText('More').click();
      await page.getByLabel('Scan').setInputFiles({ name: 'a.txt', mimeType: 'text/plain', buffer: Buffer.from('x') });
      await page.getByLabel('Who').click();
      await page.keyboard.press('Shift');
      await page.keyboard.press('Tab');
      await page.getByLabel('Who').focus();
      await page.keyboard.press('Escape');
      await page.mouse.click(700, 500);
      await Promise.all(answering);
    },
    false,
  );
  assert.deepEqual(linesOf(recorded).slice(1), [
    '2. click button "Pay"',
    '3. dismiss the next dialog',
    '4. click button "Delete"',
    '5. answer the next dialog with "Zoe"',
    '6. click button "Rename"',
    '7. fill textbox "Memo" with "hello"',
    '8. click [data-test="menu"]',
    '9. double click "Twice"',
    '10. click link "More"',
    '11. click "Who"',
    '12. press Escape in "Who"',
  ]);
  assert.ok(!JSON.stringify(recorded).includes('react-123456'), 'an id of a framework is not a selector');
  const { data } = await replay(t, recorded, 'browser', {}, ['log']);
  assert.deepEqual(data, { log: 'paid;kept;Zoe;menu;twice;escaped hello;' });
});

test('the controls of the browser are recorded: an address, back, forward, reload, a tab', async (t) => {
  const site = await openSite(
    t,
    ({ path }) => `<!doctype html><title>${path}</title><h1 id=h>${path}</h1><a href=/next>next</a>`,
  );
  const recorded = await record(t, `${site.origin}/`, async (page) => {
    await page.getByText('next').click();
    await page.waitForURL('**/next');
    await page.goBack();
    await page.goForward();
    await page.reload();
    await page.goto(`${site.origin}/typed`);
    const other = await page.context().newPage();
    await other.goto(`${site.origin}/other`);
    await other.getByText('next').click();
    await other.waitForURL('**/next');
  });
  assert.deepEqual(
    linesOf(recorded).map((line) => line.replace(site.origin, '')),
    [
      '1. goto /',
      '2. click link "next"',
      '3. back',
      '4. forward',
      '5. reload',
      '6. goto /typed',
      '7. open a tab at /other',
      '8. click link "next"',
    ],
  );
  for (const engine of ['http', 'browser'] as const) {
    assert.deepEqual((await replay(t, recorded, engine, {}, ['h'])).data, { h: '/next' });
  }
});

test('a page that egress refuses is not recorded', async (t) => {
  await assert.rejects(
    record(t, 'http://10.0.0.1/', async () => {}),
    /10\.0\.0\.1/,
  );
});
