import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import fc from 'fast-check';
import { describeSteps } from '../../../src/domain/recording/describe-step.ts';
import { type Imported, importRecording } from '../../../src/domain/recording/import/import-recording.ts';
import { sized } from '../../support/sized.ts';
import { readRecording } from './sample-recordings.ts';

function importFile(name: string, parameterize = false): Extract<Imported, { ok: true }> {
  const text = readFileSync(join(import.meta.dirname, 'exports', name), 'utf8');
  const imported = importRecording(text, { id: 'county', parameterize });
  assert.ok(imported.ok, imported.ok ? '' : imported.problem);
  return imported;
}

function lines({ recording }: Extract<Imported, { ok: true }>): readonly string[] {
  return describeSteps(readRecording(recording));
}

function notes(list: readonly { entry: string; message: string }[]): readonly string[] {
  return list.map(({ entry, message }) => `${entry}: ${message}`);
}

test('an export of the Chrome Recorder keeps shadow roots, frames, pop-ups and keys, and names what is lost', () => {
  const imported = importFile('chrome-recorder.json');
  assert.deepEqual(lines(imported), [
    '1. goto https://county.example.gov/search',
    '2. click "Parcel number"',
    '3. fill "Parcel number" with "503-51-079"',
    '4. select "2025" in #main > form select',
    '5. press Shift+Tab',
    '6. press Enter',
    '7. wait for 2 of .row to be attached',
    '8. hover "Details"',
    '9. click "Open"',
    '10. double click #map',
    '11. switch to the tab at https://pay.example.gov/cart',
    '12. click "Pay"',
    '13. close the tab',
    '14. scroll',
    '15. scroll to #list',
    `16. wait for the expression "document.title === 'Done'"`,
    '17. back',
  ]);
  const { format, converted, recording, changed, lost } = imported;
  assert.deepEqual(
    [format, converted, recording.name, recording.hosts, recording.viewport, recording.timeouts],
    [
      'chrome',
      21,
      'County search',
      ['county.example.gov', 'pay.example.gov'],
      { width: 1264, height: 918 },
      { stepMs: 8000 },
    ],
  );
  assert.deepEqual(recording.steps[8], {
    type: 'click',
    selectors: [
      ['county-card', 'aria/Open[role="button"]'],
      ['county-card', '#open'],
    ],
    button: 'middle',
    holdMs: 80,
  });
  assert.deepEqual(recording.steps[9], {
    type: 'doubleClick',
    selectors: ['#map'],
    frame: [0, 1],
    offset: { x: 1, y: 2 },
  });
  assert.deepEqual(notes(changed), [
    'entry 5 (change): the timeout of 600000 ms is shortened to 300000 ms',
    'entry 10 (keyDown): a page must come, but its address and title need not be those of the recording',
    'entry 14 (click): a touch is a mouse here',
    'entry 20 (waitForExpression): an expression is evaluated only where the operator allows scripts',
    'entry 23 (click): the back button of the mouse goes back',
  ]);
  assert.deepEqual(notes(lost), [
    'entry 12 (waitForElement): attributes of the element are not waited for',
    'entry 15 (doubleClick): a selector was left out: the selector "[" has a [ that is not closed',
    'entry 21 (emulateNetworkConditions): the network is not slowed down',
    'entry 22 (customStep): the step "lighthouse" of an extension is not known',
  ]);
});

test('of a Recorder’s double click and keys, nothing is left out in silence', () => {
  const click = { type: 'doubleClick', selectors: [['#map']], button: 'secondary', duration: 800 };
  const steps = [
    ...[
      { type: 'setViewport', width: 800, height: 600, deviceScaleFactor: 2 },
      { type: 'keyDown', key: 'Shift' },
      click,
    ],
    ...[
      { type: 'keyUp', key: 'Shift' },
      { type: 'click', selectors: ['#a'], button: 'constructor' },
    ],
    { type: 'keyDown', key: 'Enter' },
    // Exports have the page that comes with either half of the press.
    { type: 'keyUp', key: 'Enter', assertedEvents: [{ type: 'navigation' }] },
    { type: 'keyUp', key: 'a', assertedEvents: [{ type: 'navigation' }] },
  ];
  const goto = { type: 'navigate', url: 'https://county.example.gov/' };
  const imported = importRecording(JSON.stringify({ title: 'x', timeout: 900_000, steps: [goto, ...steps] }), {
    id: 'x',
    parameterize: false,
  });
  assert.ok(imported.ok);
  const { recording, changed, lost } = imported;
  assert.deepEqual(recording.steps.slice(1), [
    { type: 'doubleClick', selectors: ['#map'] },
    { type: 'click', selectors: ['#a'] },
    { type: 'press', key: 'Enter', navigation: {} },
  ]);
  assert.deepEqual(notes(changed), [
    'timeout: the timeout of 900000 ms is 300000 ms here',
    'entry 2 (setViewport): a point of the window is one pixel',
    'entry 4 (doubleClick): the button is not held down in a double click',
  ]);
  assert.deepEqual(notes(lost), [
    'entry 4 (doubleClick): a double click is one of the left button, not of the right one',
    'entry 4 (doubleClick): a double click is made without Shift',
    'entry 6 (click): there is no button "constructor": it is the left one',
    'entry 9 (keyUp): a page that comes after a key is not waited for: the key was not pressed before',
  ]);
});

test('a project of Selenium IDE keeps frames, windows, dialogs and variables; scripts are lost', () => {
  const imported = importFile('selenium.side');
  assert.deepEqual(lines(imported), [
    '1. goto https://county.example.gov/search',
    '2. click #ctl00_txtParcel',
    '3. fill #ctl00_txtParcel with "503-51-079"',
    '4. select "2025" in [name="year"]',
    '5. type "{{input.suffix}}" into #ctl00_txtParcel',
    '6. press Enter in #ctl00_txtParcel',
    '7. wait for .results',
    '8. read the text of .token as vars.token',
    '9. fill #code with "{{vars.token}}"',
    '10. accept the next dialog',
    '11. click link "Details"',
    '12. switch to the latest tab',
    '13. expect h1 to say exactly "Parcel 503-51-079"',
    '14. close the tab',
    '15. switch to the first tab',
    '16. call log_out',
    'log_out.1. click #logout',
  ]);
  assert.deepEqual(imported.recording.steps[1], {
    type: 'click',
    selectors: [
      '#ctl00_txtParcel',
      '[name="ctl00$txtParcel"]',
      "xpath///input[@id='ctl00_txtParcel']",
      'xpath///td[2]/input',
    ],
  });
  assert.deepEqual(imported.recording.steps[7], {
    type: 'extractText',
    selectors: ['.token'],
    frame: [0],
    variable: 'token',
  });
  assert.deepEqual(notes(imported.changed), [
    'entry 6 (mouseDownAt): a mouse that moves over the page is left out',
    'entry 24 (//click): is commented out, and left out',
  ]);
  assert.deepEqual(notes(imported.lost), [
    'entry 21 (if): conditions and loops are scripts; write an if, repeat or forEach step instead',
    'entry 22 (executeScript): scripts are not carried out',
    'entry 23 (end): conditions and loops are scripts; write an if, repeat or forEach step instead',
  ]);
});

test('Selenium’s clickAt keeps its place, and what is only nearly the same is named', () => {
  const commands = [
    ...[
      ['open', '/'],
      ['clickAt', 'id=map', '10.5,-3'],
      ['doubleClickAt', 'id=map', '1,2'],
      ['assertEditable', 'id=apn'],
    ],
  ].map(([command, target, value = '']) => ({ command, target, value, targets: [] }));
  const project = { url: 'https://county.example.gov', tests: [{ name: 't', commands }] };
  const imported = importRecording(JSON.stringify(project), { id: 'x', parameterize: false });
  assert.ok(imported.ok);
  assert.deepEqual(imported.recording.steps.slice(1, 3), [
    { type: 'click', selectors: ['#map'], offset: { x: 10.5, y: -3 } },
    { type: 'doubleClick', selectors: ['#map'], offset: { x: 1, y: 2 } },
  ]);
  assert.deepEqual(notes(imported.changed), [
    'entry 4 (assertEditable): that it can be seen is enough: whether it can be edited is not tested',
  ]);
});

test('the lines of Playwright codegen keep locators, frames, pop-ups and downloads', () => {
  const imported = importFile('playwright.jsonl');
  assert.deepEqual(lines(imported), [
    '1. goto https://county.example.gov/search',
    '2. click "Parcel number"',
    '3. fill "Parcel number" with "503-51-079"',
    '4. select "2025" in combobox',
    '5. check terms',
    '6. press Shift+Enter in "Parcel number"',
    '7. click link "Details"',
    '8. switch to the latest tab',
    '9. dismiss the next dialog',
    '10. double click "Print"',
    '11. keep the download',
    '12. expect "Paid" to be visible',
    '13. close the tab',
    '14. expect h1 to say "Search"',
  ]);
  const { steps } = imported.recording;
  assert.deepEqual(steps[6], { type: 'click', selectors: ['role/link[name="Details"]'], within: ['#results'] });
  assert.deepEqual(steps[9], { type: 'doubleClick', selectors: ['text/Print'], frame: ['iframe[name="bill"]'] });
  assert.deepEqual(notes(imported.changed), [
    'entry 11 (click): the dialog is dismissed, as Playwright does',
    'entry 16 (closePage): the last page is closed anyway',
  ]);
  assert.deepEqual(notes(imported.lost), [
    'entry 9 (click): the first match is used, not the one with number 1',
    'entry 14 (setInputFiles): files of the machine (deed.pdf) cannot be uploaded; use an upload step with inline files',
  ]);
});

test('a plain list of actions may use the names of steps or those that recorders use', () => {
  const imported = importFile('plain-actions.json');
  assert.deepEqual(lines(imported), [
    '1. goto https://county.example.gov/search',
    '2. fill #apn with "{{input.apn}}"',
    '3. select "2025" in #year',
    '4. press Enter in #apn',
    '5. wait for #results',
    '6. wait 250 ms',
    '7. if the page says "No records found"',
    '  7.then.1. stop: no_results',
    '8. click "Details"',
    '9. read the text of #owner as owner',
    '10. read the attribute href of a.bill as bill_url',
    '11. take a screenshot',
  ]);
  assert.deepEqual(notes(imported.changed), ['entry 4 (submit): a form is submitted by Enter in the control']);
  assert.deepEqual(notes(imported.lost), [
    'entry 12 (teleport): there is no such action',
    'entry 13 (click): cannot be a step: selectors is missing',
  ]);
});

test('values that were typed become placeholders wherever they occur, if that is asked for', () => {
  const asked = importFile('selenium.side', true);
  assert.deepEqual(asked.parameters, [
    { step: '3', field: 'value', value: '503-51-079', name: 'parcel' },
    { step: '4', field: 'label', value: '2025', name: 'year' },
  ]);
  const written = lines(asked);
  assert.equal(written[2], '3. fill #ctl00_txtParcel with "{{input.parcel}}"');
  assert.equal(written[12], '13. expect h1 to say exactly "Parcel {{input.parcel}}"');
  assert.deepEqual(readRecording(asked.recording).input['required'], ['parcel', 'year', 'suffix']);
});

test('a file that is not a recording is refused with what was expected', () => {
  const refused = (text: string) => {
    const imported = importRecording(text, { id: 'x', parameterize: false });
    return imported.ok ? 'imported' : imported.problem;
  };
  assert.equal(refused('<html>'), 'the file is neither JSON nor JSON Lines');
  assert.match(refused('{"log": {}}'), /^the file is none of these: Chrome DevTools Recorder/);
  assert.equal(refused('{"steps": []}'), 'nothing in the file could be converted');
  assert.equal(
    refused('[{"action": "click", "selector": "#a"}]'),
    'hosts: too small: expected array to have >=1 items',
  );
});

test('whatever a file holds, an importer answers with a valid recording or a reason', () => {
  const value = fc.jsonValue({ maxDepth: 3 }) as fc.Arbitrary<unknown>;
  const field = fc.constantFrom(
    ...['type', 'action', 'command', 'name', 'selectors', 'selector', 'target', 'targets', 'value', 'url', 'key'],
    ...['frame', 'locator', 'signals', 'options', 'timeout', 'assertedEvents', 'text', 'kind', 'body', 'next'],
  );
  const word = fc.constantFrom(
    ...['click', 'navigate', 'goto', 'change', 'keyDown', 'keyUp', 'scroll', 'close', 'openPage', 'closePage', 'open'],
    ...['selectFrame', 'store', 'run', 'select', 'waitForElement', 'setViewport', 'https://a.example/b', '#a', 'Shift'],
    ...['__proto__', 'constructor', '{{input.x}}', '{{', 'type', 'wait', 'extract', 'press', 'fill', 'upload'],
  );
  const entry = fc.dictionary(field, fc.oneof(word, value, fc.array(word)), { noNullPrototype: true });
  const document = fc.oneof(
    fc.record({ steps: fc.array(entry) }),
    fc.record({ tests: fc.array(fc.record({ name: word, commands: fc.array(entry) })) }),
    fc.array(entry),
    fc.array(fc.tuple(entry, fc.constant({ signals: [] })).map(([one, other]) => ({ ...one, ...other }))),
  );
  fc.assert(
    fc.property(document, (given) => {
      const imported = importRecording(JSON.stringify(given), { id: 'x', parameterize: true });
      if (imported.ok) readRecording(imported.recording);
      else assert.notEqual(imported.problem, '');
    }),
    { numRuns: sized({ quick: 300, slow: 20_000 }) },
  );
});
