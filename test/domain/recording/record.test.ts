import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeSteps } from '../../../src/domain/recording/describe-step.ts';
import { parseRecording } from '../../../src/domain/recording/parse-recording.ts';
import { composeRecorded, idFor } from '../../../src/domain/recording/record/compose-recorded.ts';
import {
  PAGE_EVENT,
  type RecordedElement,
  type RecordedEvent,
  type TabEvent,
} from '../../../src/domain/recording/record/recorded-event.ts';
import { stepsFromEvents } from '../../../src/domain/recording/record/steps-from-events.ts';

const URL = 'https://county.example.gov/search';

function element(name: string, more: Partial<RecordedElement> = {}): RecordedElement {
  return { ref: `d:${name}`, isText: true, selectors: [`label/${name}`, `#${name}`], ...more };
}

interface Where {
  readonly tab?: number;
  readonly at?: number;
}

const at = (where: Where) => ({ tab: where.tab ?? 0, at: where.at ?? 0 });
const click = (name: string, where: Where & { isByKey?: boolean; selectors?: string[] } = {}): RecordedEvent => ({
  ...{ type: 'click', button: 'left', modifiers: [], offset: null, frame: null, isByKey: where.isByKey ?? false },
  ...at(where),
  element: element(name, where.selectors === undefined ? {} : { selectors: where.selectors }),
});
const fill = (name: string, value: string, where: Where = {}): RecordedEvent => ({
  ...{ type: 'fill', value, frame: null, element: element(name), ...at(where) },
});
const press = (name: string, key: string, where: Where = {}): RecordedEvent => ({
  ...{ type: 'press', key, frame: null, element: element(name), ...at(where) },
});
const tabbed = (event: TabEvent, where: Where = {}): RecordedEvent => ({ ...event, ...at(where) });
const went = (how: 'typed' | 'back' | 'forward' | 'reload' | 'followed', where: Where & { url?: string } = {}) =>
  tabbed({ type: 'went', url: where.url ?? URL, how }, where);
const opening = went('typed');

function lines(...events: RecordedEvent[]): readonly string[] {
  return describeSteps({ steps: [...stepsFromEvents(URL, events).steps], sequences: {} }).slice(1);
}

test('keystrokes are one value, without the click that set the cursor', () => {
  assert.deepEqual(
    lines(
      opening,
      click('apn'),
      fill('apn', '1'),
      fill('apn', '10'),
      fill('apn', '101'),
      fill('owner', 'A'),
      click('apn'),
    ),
    ['2. fill "apn" with "101"', '3. fill "owner" with "A"', '4. click "apn"'],
  );
});

test('Enter in a field is a key, Enter on a button is a click: the click that the browser adds is neither twice', () => {
  assert.deepEqual(lines(opening, press('apn', 'Enter'), click('go', { isByKey: true }), went('followed')), [
    '2. press Enter in "apn"',
  ]);
  assert.deepEqual(lines(opening, press('go', 'Enter'), click('go', { isByKey: true })), ['2. click "go"']);
  assert.deepEqual(lines(opening, press('go', 'Enter'), click('go', { at: 60_000 })), [
    '2. press Enter in "go"',
    '3. click "go"',
  ]);
});

test('two clicks and a double click are a double click; another choice replaces the one before', () => {
  const choose = (...values: string[]): RecordedEvent => ({
    ...{ type: 'select', values, frame: null, tab: 0, at: 0, element: element('year') },
  });
  const tick = (checked: boolean): RecordedEvent => ({
    ...{ type: 'check', checked, frame: null, tab: 0, at: 0, element: element('paid') },
  });
  const twice: RecordedEvent = { type: 'doubleClick', frame: null, tab: 0, at: 0, element: element('go') };
  assert.deepEqual(
    lines(opening, click('go'), click('go'), twice, choose('2024'), choose('2025', '2026'), tick(true), tick(false)),
    ['2. double click "go"', '3. select "2025, 2026" in "year"', '4. uncheck "paid"'],
  );
});

test('a page that comes belongs to the step before it, unless that is long ago or had its page', () => {
  const { steps } = stepsFromEvents(URL, [
    opening,
    click('a', { at: 10 }),
    went('followed', { at: 900 }),
    went('followed', { at: 950 }),
    click('b', { at: 1000 }),
    went('followed', { at: 90_000 }),
    click('back', { at: 91_000 }),
    went('back', { at: 91_100 }),
    went('back', { at: 99_000 }),
  ]);
  assert.deepEqual(
    steps.map((step) => [step.type, 'navigation' in step]),
    [
      ['goto', false],
      ['click', true],
      ['click', false],
      ['click', true],
      ['back', false],
    ],
  );
});

test('tabs: pop-ups are switched to when something is done in them, and windows closed at the end are not steps', () => {
  assert.deepEqual(
    lines(
      ...[opening, click('terms'), tabbed({ type: 'opened', opener: 0 }, { tab: 1 }), went('followed', { tab: 1 })],
      ...[click('agree', { tab: 1 }), tabbed({ type: 'closed' }, { tab: 1 }), click('go')],
      ...[tabbed({ type: 'opened', opener: null }, { tab: 2 }), went('typed', { tab: 2, url: 'https://b.example/' })],
      ...[click('more', { tab: 2 }), click('home'), tabbed({ type: 'opened', opener: 0 }, { tab: 3 })],
      ...[
        tabbed({ type: 'closed' }, { tab: 3 }),
        tabbed({ type: 'closed' }, { tab: 0 }),
        tabbed({ type: 'closed' }, { tab: 2 }),
      ],
    ),
    [
      ...['2. click "terms"', '3. switch to the latest tab', '4. click "agree"', '5. close the tab', '6. click "go"'],
      ...['7. open a tab at https://b.example/', '8. click "more"', '9. switch to the first tab', '10. click "home"'],
    ],
  );
});

test('a click that leads to a document is the step that keeps it, wherever the document was shown', () => {
  assert.deepEqual(lines(opening, click('bill'), tabbed({ type: 'download' })), ['2. keep the download of "bill"']);
  assert.deepEqual(
    lines(opening, click('bill'), tabbed({ type: 'document' }), went('followed'), went('back'), click('next')),
    ['2. keep the download of "bill"', '3. click "next"'],
  );
  const shown = [tabbed({ type: 'opened', opener: 0 }, { tab: 1 }), tabbed({ type: 'document' }, { tab: 1 })];
  const scrolled = click('page', { tab: 1 });
  assert.deepEqual(
    lines(opening, click('bill'), ...shown, scrolled, tabbed({ type: 'closed' }, { tab: 1 }), click('next')),
    ['2. keep the download of "bill"', '3. click "next"'],
  );
});

test('dialogs that were not simply accepted are answered before the step that opens them', () => {
  const dialog = (kind: string, isAccepted: boolean, text = ''): RecordedEvent =>
    tabbed({ type: 'dialog', kind, isAccepted, text });
  assert.deepEqual(
    lines(
      ...[opening, click('a'), dialog('alert', true), click('b'), dialog('confirm', false)],
      ...[click('c'), dialog('prompt', true, 'Zoe'), dialog('beforeunload', false)],
    ),
    [
      ...['2. click "a"', '3. dismiss the next dialog', '4. click "b"'],
      ...['5. answer the next dialog with "Zoe"', '6. click "c"'],
    ],
  );
});

test('what cannot be recorded is named', () => {
  const { notes, steps } = stepsFromEvents(URL, [
    opening,
    { type: 'files', frame: null, tab: 0, at: 0, element: element('scan') },
    { type: 'drop', frame: null, tab: 0, at: 0 },
    click('odd', { selectors: ['#a >', 'role/'] }),
  ]);
  assert.equal(steps.length, 1);
  assert.deepEqual(notes, [
    'the file chosen at "scan" is not recorded; add an upload step by hand',
    'dragging is not recorded; add a drag step by hand',
    'a step (click) was left out: its element has no selector that can be used',
  ]);
});

test('a password is a placeholder, other values become placeholders if asked for, and braces of a page stay braces', () => {
  const secret = (name: string): RecordedEvent => ({
    ...{ type: 'secret', frame: ['#login'], tab: 0, at: 0, element: element(name) },
  });
  const events = [
    opening,
    secret('pin'),
    secret('pin'),
    secret('again'),
    fill('owner', '{{input.x}}'),
    fill('apn', '101-02-003'),
  ];
  const found = click('row', { selectors: ['text/101-02-003'] });
  const visit = { url: URL, events: [...events, found], hosts: ['county.example.gov', 'login.example.gov'] };
  const { recording, parameters } = composeRecorded(visit, { id: 'x', parameterize: true });
  const parsed = parseRecording(recording);
  assert.ok(parsed.ok, JSON.stringify(parsed));
  assert.deepEqual(describeSteps(parsed.recording).slice(1), [
    '2. fill "pin" with "{{input.password}}"',
    '3. fill "again" with "{{input.password_2}}"',
    '4. fill "owner" with "\\\\{{input.x}}"',
    '5. fill "apn" with "{{input.apn}}"',
    '6. click "{{input.apn}}"',
  ]);
  assert.deepEqual(
    parameters.map(({ name }) => name),
    ['apn'],
  );
  assert.deepEqual(parsed.recording.hosts, ['county.example.gov', 'login.example.gov']);
  const plain = composeRecorded(visit, { id: 'x', parameterize: false });
  assert.match(JSON.stringify(plain.recording), /101-02-003/);
});

test('what a page says it saw is parsed strictly', () => {
  const good = { type: 'fill', at: 1, element: element('apn'), value: 'x' };
  assert.ok(PAGE_EVENT.safeParse(good).success);
  for (const bad of [
    { ...good, value: 'x'.repeat(100_000) },
    { ...good, more: 1 },
    { ...good, element: { ...good.element, selectors: [] } },
    { ...good, type: 'evaluate' },
    { ...good, at: Number.NaN },
    null,
  ]) {
    assert.ok(!PAGE_EVENT.safeParse(bad).success, JSON.stringify(bad)?.slice(0, 100));
  }
});

test('ids are made from hosts', () => {
  assert.deepEqual(
    ['https://www.County-Treasurer.example.gov:8443/x', 'http://127.0.0.1/', 'https://xn--bcher-kva.example/'].map(
      idFor,
    ),
    ['county-treasurer-example-gov', '127-0-0-1', 'xn-bcher-kva-example'],
  );
});
