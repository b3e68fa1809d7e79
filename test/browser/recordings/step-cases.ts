import type { Step, StepType } from '../../../src/domain/recording/step.ts';

/** One recording, and what it reads. It is run in Chromium and, unless `browserOnly`, without a browser. */
export interface StepCase {
  readonly of: readonly StepType[];
  readonly about: string;
  /** Where it begins; `/` by default. */
  readonly at?: '/scripted' | '/none';
  readonly steps: readonly Step[];
  readonly sequences?: Readonly<Record<string, readonly Step[]>>;
  readonly data?: Readonly<Record<string, unknown>>;
  readonly fails?: { readonly type: string; readonly says: RegExp };
  readonly keeps?: readonly ('document' | 'screenshot' | 'page')[];
  readonly browserOnly?: true;
  readonly httpOnly?: true;
  readonly forbidsScripts?: true;
  readonly timeoutMs?: number;
}

const read = (selector: string, field: string): Step => ({ type: 'extractText', selectors: [selector], field });
const click = (...selectors: string[]): Step => ({ type: 'click', selectors });
const submit: Step = { type: 'click', selectors: ['#go'], navigation: { url: '/echo' } };
const log = read('#log', 'log');

export const STEP_CASES: readonly StepCase[] = [
  {
    ...{ of: ['goto', 'back', 'forward', 'reload'], about: 'goes through the history' },
    steps: [
      { type: 'goto', url: '/second?from={{input.apn}}', navigation: { title: 'Second' } },
      read('#from', 'from'),
      { type: 'back' },
      read('h1', 'back'),
      { type: 'forward', navigation: { url: { contains: '/second' } } },
      { type: 'reload' },
      read('h1', 'forward'),
    ],
    data: { from: 'A & 1', back: 'Widgets', forward: 'Second page' },
  },
  {
    ...{ of: ['newTab', 'switchTab', 'closeTab'], about: 'works in several tabs' },
    steps: [
      click('#window'),
      { type: 'switchTab', to: 'latest' },
      read('#from', 'window'),
      { type: 'closeTab' },
      read('h1', 'closed'),
      { type: 'newTab', url: '/second?from=new' },
      { type: 'switchTab', to: 'first' },
      { type: 'switchTab', to: { url: { contains: 'from=new' } } },
      read('#from', 'tab'),
    ],
    data: { window: 'window', closed: 'Widgets', tab: 'new' },
  },
  {
    ...{ of: ['click', 'fill', 'type', 'clear', 'select', 'check', 'uncheck'], about: 'fills and submits a form' },
    steps: [
      { type: 'fill', selectors: ['label/Parcel number'], value: '{{input.apn}}' },
      { type: 'clear', selectors: ['[name=notes]'] },
      { type: 'type', selectors: ['[name=notes]'], text: 'typed' },
      { type: 'select', selectors: ['#county'], label: 'Beta' },
      { type: 'check', selectors: ['#paid'] },
      { type: 'uncheck', selectors: ['#sent'] },
      { type: 'check', selectors: ['#large'] },
      { type: 'extractValue', selectors: ['#county'], field: 'chosen' },
      submit,
      ...['name', 'notes', 'county', 'paid', 'size', 'action'].map((name) => read(`#got-${name}`, name)),
      { type: 'extractText', selectors: ['#got-sent'], field: 'sent', optional: true },
    ],
    data: {
      ...{
        chosen: 'b',
        name: 'A & 1',
        notes: 'typed',
        county: 'b',
        paid: 'yes',
        size: 'l',
        action: 'Search',
        sent: null,
      },
    },
  },
  {
    ...{ of: ['select', 'type', 'press'], about: 'chooses by value and by number, and submits by Enter' },
    steps: [
      { type: 'select', selectors: ['#county'], value: 'c' },
      { type: 'select', selectors: ['#county'], index: 1 },
      { type: 'type', selectors: ['#name'], text: 'new', clear: true },
      { type: 'press', selectors: ['#name'], key: 'Enter', navigation: {} },
      read('#got-name', 'name'),
      read('#got-county', 'county'),
      read('#got-action', 'action'),
    ],
    data: { name: 'new', county: 'b', action: 'Search' },
  },
  {
    ...{ of: ['click'], about: 'finds elements in every way, and takes the first alternative that matches' },
    steps: [
      click('#missing', 'aria/Search now[role="button"]'),
      read('#got-action', 'aria'),
      { type: 'goto', url: '/' },
      click('role/button[name="Search now"]'),
      read('#got-action', 'role'),
      { type: 'goto', url: '/' },
      click('text/Second page'),
      read('#from', 'text'),
      { type: 'goto', url: '/' },
      click('testid/go'),
      read('#got-action', 'testid'),
      { type: 'goto', url: '/' },
      click('xpath///a[contains(text(), "Second") and starts-with(@href, "/second")]'),
      read('#from', 'xpath'),
      { type: 'goto', url: '/' },
      { type: 'click', selectors: ['a'], within: ['xpath///p[a[@id="second"]]'] },
      read('#from', 'within'),
      { type: 'goto', url: '/' },
      click('aria/Paid'),
      submit,
      read('#got-paid', 'label'),
    ],
    data: {
      aria: 'Search',
      role: 'Search',
      text: 'home',
      testid: 'Search',
      xpath: 'home',
      within: 'home',
      label: 'yes',
    },
  },
  {
    ...{ of: ['extractText', 'fill', 'click'], about: 'works in a frame' },
    steps: [
      { type: 'extractText', selectors: ['.word'], frame: [0], field: 'byNumber' },
      { type: 'fill', selectors: ['#q'], frame: ['#inner'], value: 'x' },
      { type: 'extractText', selectors: ['p'], frame: ['#inner'], field: 'bySelector' },
      { type: 'click', selectors: ['css/#ok'], frame: ['#inner'] },
      { type: 'waitForElement', selectors: ['.sent'], frame: ['#inner'], text: 'x' },
      { type: 'extractText', selectors: ['.sent'], frame: [0], field: 'sent' },
    ],
    data: { byNumber: 'inside the frame', bySelector: 'inside the frame', sent: 'x' },
  },
  {
    ...{ of: ['upload'], about: 'uploads bytes, and what was read' },
    steps: [
      {
        type: 'upload',
        selectors: ['#file'],
        files: [{ from: 'inline', base64: 'aGVsbG8=', fileName: 'hello.txt', mediaType: 'text/plain' }],
      },
      { type: 'click', selectors: ['#send'], navigation: {} },
      read('#file-name', 'name'),
      read('#file-text', 'text'),
      { type: 'goto', url: '/' },
      { type: 'upload', selectors: ['#file'], files: [{ from: 'artifact', artifact: 'data' }] },
      { type: 'click', selectors: ['#send'], navigation: {} },
      read('#file-text', 'data'),
    ],
    data: { name: 'hello.txt', text: 'hello', data: '{"name":"hello.txt","text":"hello"}' },
  },
  {
    ...{ of: ['download', 'upload'], about: 'keeps a document by a link, and uploads it again' },
    steps: [
      { type: 'download', selectors: ['#bill'], field: 'bill' },
      { type: 'upload', selectors: ['#file'], files: [{ from: 'artifact', artifact: 'document' }] },
      { type: 'click', selectors: ['#send'], navigation: {} },
      read('#file-name', 'name'),
    ],
    data: { bill: { kind: 'document', size: 2016, media_type: 'application/pdf' }, name: 'document.pdf' },
    keeps: ['document'],
  },
  {
    ...{ of: ['download', 'waitForDownload'], about: 'keeps what a click has started, and an address' },
    steps: [click('#bill'), { type: 'waitForDownload' }, { type: 'download' }, read('h1', 'h1')],
    data: { h1: 'Widgets' },
    keeps: ['document'],
  },
  {
    ...{ of: ['download'], about: 'goes on without an optional document' },
    steps: [
      { type: 'download', selectors: ['#no-bill'], optional: true, field: 'none' },
      { type: 'download', url: '/bill.pdf' },
    ],
    data: { none: null },
    keeps: ['document'],
  },
  {
    ...{
      of: ['waitForElement', 'waitForText', 'waitForUrl', 'waitForTime', 'waitForNetworkIdle'],
      about: 'waits for what is there',
    },
    steps: [
      { type: 'waitForElement', selectors: ['#taxes tbody tr'], count: 2 },
      { type: 'waitForElement', selectors: ['#hidden'], state: 'hidden' },
      { type: 'waitForElement', selectors: ['#hidden'], state: 'attached' },
      { type: 'waitForElement', selectors: ['h1'], text: 'widgets' },
      { type: 'waitForText', text: 'Parcel number' },
      { type: 'waitForText', text: 'no such text', gone: true },
      { type: 'waitForUrl', url: '/' },
      { type: 'waitForTime', ms: 10 },
      { type: 'waitForNetworkIdle' },
      read('h1', 'h1'),
    ],
    data: { h1: 'Widgets' },
  },
  {
    ...{
      of: [
        'extractText',
        'extractAttribute',
        'extractValue',
        'extractHtml',
        'extractNumber',
        'extractMoney',
        'extractDate',
        'extractJson',
      ],
    },
    about: 'reads values',
    steps: [
      { type: 'extractText', selectors: ['#owners b'], all: true, field: 'owners' },
      { type: 'extractText', selectors: ['#lines'], lines: true, field: 'lines' },
      { type: 'extractText', selectors: ['#lines'], lines: ', ', field: 'joined' },
      { type: 'extractText', selectors: ['#owners i'], pattern: '([0-9]+) %', field: 'share.first' },
      { type: 'extractText', selectors: ['#empty'], optional: true, field: 'empty' },
      { type: 'extractAttribute', selectors: ['#owners li'], attribute: 'data-id', field: 'id', variable: 'id' },
      {
        type: 'extractAttribute',
        selectors: ['#bill'],
        attribute: 'href',
        absolute: true,
        pattern: '/[a-z]+[.]pdf$',
        field: 'bill',
      },
      { type: 'extractValue', selectors: ['#name'], field: 'value' },
      { type: 'extractHtml', selectors: ['#owners b'], field: 'html' },
      { type: 'extractHtml', keepAs: 'whole' },
      { type: 'extractNumber', selectors: ['#taxes td'], field: 'number' },
      { type: 'extractMoney', selectors: ['#taxes td:nth-child(2)'], field: 'money' },
      { type: 'extractDate', selectors: ['#taxes td:nth-child(3)'], field: 'date' },
      { type: 'extractJson', selectors: ['#state'], pointer: '/parcel/owners/1', field: 'json' },
      { type: 'goto', url: '/second?from={{vars.id}}' },
      read('#from', 'variable'),
    ],
    data: {
      ...{
        owners: ['ANN', 'BOB'],
        lines: ['1 Main St', 'Springfield'],
        joined: '1 Main St, Springfield',
        share: { first: '60' },
      },
      ...{ empty: null, id: '7', bill: '/bill.pdf', value: 'old', html: '<b>ANN</b>', number: 2024, money: 1200.5 },
      ...{ date: '2025-01-31', json: 'BOB', variable: '7' },
    },
    keeps: ['page'],
  },
  {
    ...{ of: ['extractTable', 'extractRecords'], about: 'reads tables and lists' },
    steps: [
      { type: 'extractTable', selectors: ['#taxes'], field: 'all' },
      {
        type: 'extractTable',
        selectors: ['#taxes'],
        columns: { tax: { header: 'Tax', read: 'money' }, due: { header: 'Due', read: 'date', optional: true } },
        field: 'taxes',
      },
      {
        type: 'extractRecords',
        selectors: ['#owners li'],
        fields: {
          name: { selectors: ['b'] },
          id: { read: 'attribute', attribute: 'data-id' },
          none: { selectors: ['u'], optional: true },
        },
        field: 'owners',
      },
    ],
    data: {
      all: [
        { Year: '2024', Tax: '$1,200.50', Due: '1/31/2025' },
        { Year: '2025', Tax: '$1,300.00', Due: '' },
      ],
      taxes: [
        { tax: 1200.5, due: '2025-01-31' },
        { tax: 1300, due: null },
      ],
      owners: [
        { name: 'ANN', id: '7', none: null },
        { name: 'BOB', id: '8', none: null },
      ],
    },
  },
  {
    ...{ of: ['if', 'forEach', 'repeat', 'try', 'call', 'stop'], about: 'branches, loops and stops' },
    steps: [
      {
        type: 'if',
        condition: {
          type: 'and',
          conditions: [
            { type: 'exists', selectors: ['#hidden'] },
            { type: 'exists', selectors: ['#hidden'], visible: false },
            { type: 'text', text: { matches: 'parcel +number' } },
            { type: 'count', selectors: ['#owners li'], count: { atLeast: 2 } },
            { type: 'value', selectors: ['#name'], value: 'old' },
            { type: 'url', url: '/' },
            {
              type: 'not',
              condition: {
                type: 'or',
                conditions: [
                  { type: 'text', text: 'nowhere' },
                  { type: 'exists', selectors: ['#none'] },
                ],
              },
            },
          ],
        },
        then: [read('h1', 'then')],
        else: [{ type: 'stop', outcome: 'structure_changed' }],
      },
      {
        type: 'forEach',
        selectors: ['#owners li'],
        max: 10,
        field: 'owners',
        steps: [{ type: 'extractText', selectors: ['b'], within: '@row', field: 'name' }],
      },
      { type: 'try', steps: [click('#not-there')], otherwise: [read('h1', 'otherwise')] },
      { type: 'call', sequence: 'pages' },
      { type: 'if', condition: { type: 'exists', selectors: ['#end'] }, then: [{ type: 'stop', outcome: 'done' }] },
      { type: 'stop', outcome: 'structure_changed' },
    ],
    sequences: {
      pages: [
        { type: 'goto', url: '/pages?n=1' },
        {
          type: 'repeat',
          until: { type: 'not', condition: { type: 'exists', selectors: ['#next'] } },
          max: 5,
          field: 'rows',
          steps: [
            read('.row', 'row'),
            {
              type: 'if',
              condition: { type: 'exists', selectors: ['#next'] },
              then: [{ type: 'click', selectors: ['#next'], navigation: {} }],
            },
          ],
        },
        read('.row', 'last'),
      ],
    },
    data: {
      ...{ then: 'Widgets', owners: [{ name: 'ANN' }, { name: 'BOB' }], otherwise: 'Widgets' },
      ...{ rows: [{ row: 'row 1' }, { row: 'row 2' }], last: 'row 3' },
    },
    timeoutMs: 1000,
  },
  {
    ...{ of: ['assertText', 'assertElement', 'assertCount', 'assertUrl', 'assertSameItem'], about: 'checks the page' },
    steps: [
      { type: 'assertText', text: 'widgets' },
      { type: 'assertElement', selectors: ['#taxes'] },
      { type: 'assertElement', selectors: ['#none'], state: 'hidden' },
      { type: 'assertCount', selectors: ['#owners li'], count: 2 },
      { type: 'assertUrl', url: '/' },
      { type: 'assertSameItem', selectors: ['#owners b'], value: 'a-n-n' },
      read('h1', 'h1'),
    ],
    data: { h1: 'Widgets' },
  },
  {
    ...{ of: ['assertSameItem'], about: 'notices the page of another item' },
    steps: [{ type: 'assertSameItem', selectors: ['#owners b'], value: '{{input.apn}}' }],
    fails: { type: 'navigation_failed', says: /^step 2, expect .*: the page is about "ANN", not "A & 1"/ },
  },
  {
    ...{ of: ['repeat'], about: 'stops a loop that does not end' },
    steps: [
      {
        type: 'repeat',
        until: { type: 'exists', selectors: ['#never'] },
        max: 3,
        steps: [{ type: 'scroll', to: 'bottom' }],
      },
    ],
    fails: { type: 'structure_changed', says: /^step 2, repeat .*: it is not so after 3 rounds/ },
  },
  {
    ...{ of: ['click'], about: 'says what the page says in place of an element' },
    at: '/none',
    steps: [click('#search', 'aria/Search', 'text/Search')],
    fails: {
      type: 'no_results',
      says: /^step 2, click #search: none of 3 selectors matched; the page says "(?:Results )?No records found/,
    },
    timeoutMs: 300,
  },
  {
    ...{ of: ['stop'], about: 'ends with an outcome' },
    steps: [
      {
        type: 'if',
        condition: { type: 'text', text: 'Widgets' },
        then: [{ type: 'stop', outcome: 'no_results', message: 'not {{input.apn}}' }],
      },
    ],
    fails: { type: 'no_results', says: /^step 2.then.1, stop: not A & 1/ },
  },
  {
    ...{ of: ['hover', 'doubleClick', 'drag', 'press', 'scroll'], about: 'does what scripts react to' },
    at: '/scripted',
    browserOnly: true,
    steps: [
      { type: 'hover', selectors: ['#over'] },
      { type: 'doubleClick', selectors: ['#twice'] },
      { type: 'drag', selectors: ['#from'], to: ['#onto'] },
      { type: 'click', selectors: ['#keys'], offset: { x: 5, y: 5000 } },
      { type: 'press', key: 'Control+A' },
      { type: 'scroll', selectors: ['#box'], x: 0, y: 100 },
      { type: 'waitForElement', selectors: ['#log'], text: 'box' },
      { type: 'scroll', to: 'bottom' },
      { type: 'waitForElement', selectors: ['#log'], text: 'page' },
      log,
    ],
    data: { log: 'hovered;twice;dropped;key Control;key A;box;page;' },
  },
  {
    ...{ of: ['dialog', 'click'], about: 'answers dialogs' },
    at: '/scripted',
    browserOnly: true,
    steps: [
      { type: 'dialog', action: 'dismiss' },
      click('#ask'),
      { type: 'waitForElement', selectors: ['#log'], text: 'no' },
      { type: 'dialog', action: 'accept' },
      { type: 'dialog', action: 'answer', text: '{{input.apn}}' },
      click('#ask'),
      { type: 'waitForElement', selectors: ['#log'], text: 'yes' },
      log,
    ],
    data: { log: 'no;yes A & 1;' },
  },
  {
    ...{ of: ['click', 'extractText'], about: 'goes into shadow roots' },
    at: '/scripted',
    browserOnly: true,
    steps: [
      { type: 'click', selectors: [['#host', '#inside']] },
      { type: 'click', selectors: ['pierce/#inside'] },
      { type: 'extractText', selectors: [['#host', '.shadow']], field: 'text' },
      log,
    ],
    data: { text: 'in the shadow', log: 'inside;inside;' },
  },
  {
    ...{ of: ['waitForResponse', 'extractJson', 'waitForExpression', 'waitForElement'], about: 'waits for scripts' },
    at: '/scripted',
    browserOnly: true,
    steps: [
      { type: 'waitForElement', selectors: ['#later'], text: 'loaded' },
      { type: 'waitForExpression', expression: 'window.isReady === true' },
      click('#fetch'),
      { type: 'waitForResponse', url: { contains: '/api/total' }, status: 200 },
      { type: 'extractJson', response: { contains: '/api/total' }, pointer: '/total', field: 'total' },
      { type: 'waitForElement', selectors: ['#log'], text: 'total 42' },
    ],
    data: { total: 42 },
  },
  {
    ...{
      of: ['screenshot', 'pdf', 'waitForDownload', 'download', 'switchTab'],
      about: 'keeps pictures, PDFs and what scripts make',
    },
    at: '/scripted',
    browserOnly: true,
    steps: [
      { type: 'screenshot', selectors: ['#over'] },
      { type: 'screenshot' },
      { type: 'pdf' },
      click('#save'),
      { type: 'waitForDownload' },
      { type: 'download', field: 'made' },
      click('#pop'),
      { type: 'switchTab', to: { url: { contains: 'from=script' } } },
      read('#from', 'from'),
    ],
    data: { made: { kind: 'document', size: 13, media_type: 'application/pdf' }, from: 'script' },
    keeps: ['screenshot', 'document'],
  },
];
