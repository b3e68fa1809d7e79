import { SEARCH } from './sample-recordings.ts';

/** A recording that must be refused, and what the refusal must name. */
export interface BrokenRecording {
  readonly what: string;
  readonly document: unknown;
  /** Start of the message: the step, or a field of the recording. */
  readonly named: RegExp;
}

const [GOTO = {}] = SEARCH.steps;
type Fields = Record<string, unknown>;

/** The search with this step as its second. */
function withStep(step: unknown, more: Fields = {}): Fields {
  return { ...SEARCH, ...more, steps: [GOTO, step] };
}

function nest(levels: number, inner: unknown): unknown {
  let step = inner;
  for (let level = 0; level < levels; level += 1) step = { type: 'try', steps: [step] };
  return step;
}

const UNKNOWN_STEPS = [
  ...['clik', 'Click', 'CLICK', 'eval', 'evaluate', 'exec', 'script', 'javascript', 'require', 'import', 'shell'],
  ...['constructor', 'toString', 'hasOwnProperty', 'valueOf', '', ' click', 'goto ', 'navigate', 'change', 'keyDown'],
  ...['waitFor', 'extract', 'loop', 'while', 'break', 'x'.repeat(5_000), '💥', '\u0000'],
];

const BAD_SELECTORS = [
  ...['', ' ', 'css/', 'text/', 'aria/', 'xpath/', 'a[', 'a]', 'a(', ':not(', 'a[href="x]', "a[href='x]", '> a', 'a >'],
  ...['a,,b', ', a', 'a,', 'a { color: red }', 'a;b', '#', '.', 'a..b', 'a >> b > > c', '[]', ':is()', '@row', '!a'],
  ...['xpath///a[', "xpath///a[@b='c]", 'xpath///a)', 'role/', 'role/button name', 'role/button[name=Search]', '/*a*/'],
  ...['x'.repeat(3_000), '<!-- a'],
];

const BAD_PATTERNS = [
  ...['(', '[', '*', 'a{2,1}', '(a+)+$', '(a*)*', '(a|a)*', '(a|b|ab)*c', '([a-z]+)*$', '(.*)*', '(?=a)', '(?<!a)b'],
  ...[
    '(a)\\1',
    '(?<n>a)\\k<n>',
    '.*.*.*x',
    '\\d+\\d+\\d+x',
    '\\w*\\w+\\w*$',
    '(?:a{1,5}){50}',
    'a{1000}',
    '(\\s+\\w+)+',
  ],
  ...['x'.repeat(600), '('.repeat(20) + ')'.repeat(20), '\\', '(?i)a'],
];

const BAD_TEMPLATES = [
  ...[
    '{{',
    '{{input}}',
    '{{input.}}',
    '{{.apn}}',
    '{{input.apn',
    '{{input.apn}',
    '{{env.HOME}}',
    '{{process.env.HOME}}',
  ],
  ...['{{input.__proto__}}', '{{input.constructor}}', '{{input.constructor.constructor}}', '{{vars.prototype}}'],
  ...[
    '{{input.a | eval}}',
    '{{input.a | constructor}}',
    '{{input.a | toString}}',
    '{{input.a | slice}}',
    '{{input.a |}}',
  ],
  ...['{{input.a | slice:a}}', '{{input.a | slice:0,1,2}}', '{{input.a | split:-}}', '{{input.a | replace:"",x}}'],
  ...[
    '{{input.a b}}',
    '{{input["a"]}}',
    '{{input.a()}}',
    '{{1+1}}',
    '{{vars.never_read}}',
    '{{row.number}}',
    '{{row.x}}',
  ],
  ...['{{input.a}}'.repeat(60), `{{input${'.a'.repeat(20)}}}`, `{{input.a${' | trim'.repeat(20)}}}`, '{{"}}'],
];

const BAD_STEPS: readonly unknown[] = [
  ...[null, 1, 'click', [], {}, { type: null }, { type: 1 }, { type: ['click'] }, { selectors: ['#a'] }],
  { type: 'click' },
  { type: 'click', selectors: '#a' },
  { type: 'click', selectors: [] },
  { type: 'click', selectors: [[]] },
  { type: 'click', selectors: [1] },
  { type: 'click', selectors: ['#a'], button: 'back' },
  { type: 'click', selectors: ['#a'], timeoutMs: -1 },
  { type: 'click', selectors: ['#a'], timeoutMs: 1e9 },
  { type: 'click', selectors: ['#a'], timeoutMs: '5s' },
  { type: 'click', selectors: ['#a'], onclick: 'alert(1)' },
  { type: 'click', selectors: ['#a'], frame: [-1] },
  { type: 'click', selectors: ['#a'], frame: [] },
  { type: 'click', selectors: ['#a'], within: '@row' },
  { type: 'click', selectors: Array.from({ length: 50 }, () => '#a') },
  { type: 'fill', selectors: ['#a'] },
  { type: 'fill', selectors: ['#a'], value: 5 },
  { type: 'fill', selectors: ['#a'], value: 'x'.repeat(20_000) },
  { type: 'select', selectors: ['#a'] },
  { type: 'select', selectors: ['#a'], value: 'a', index: 1 },
  { type: 'goto' },
  { type: 'goto', url: '' },
  { type: 'goto', url: 'javascript:alert(1)' },
  { type: 'goto', url: 'file:///etc/passwd' },
  { type: 'goto', url: 'data:text/html,x' },
  { type: 'goto', url: 'https://elsewhere.example/' },
  { type: 'goto', url: 'https://county.example.gov.evil.example/' },
  { type: 'goto', url: 'https://county.example.gov@evil.example/' },
  { type: 'newTab', url: 'chrome://settings' },
  { type: 'download', url: 'ftp://county.example.gov/a' },
  { type: 'upload', selectors: ['#f'], files: [] },
  { type: 'upload', selectors: ['#f'], files: ['/etc/passwd'] },
  { type: 'upload', selectors: ['#f'], files: [{ from: 'path', path: '/etc/passwd' }] },
  { type: 'upload', selectors: ['#f'], files: [{ from: 'artifact', artifact: '../../secret' }] },
  { type: 'upload', selectors: ['#f'], files: [{ from: 'inline', base64: 'x'.repeat(2_000_000), fileName: 'a' }] },
  { type: 'dialog', action: 'answer' },
  { type: 'dialog', action: 'accept', text: 'x' },
  { type: 'waitForTime', ms: 1e9 },
  { type: 'waitForTime', ms: -1 },
  { type: 'waitForTime', ms: Number.MAX_VALUE },
  { type: 'waitForElement', selectors: ['#a'], count: {} },
  { type: 'waitForElement', selectors: ['#a'], count: -1 },
  { type: 'extractText', selectors: ['#a'] },
  { type: 'extractText', selectors: ['#a'], field: '__proto__' },
  { type: 'extractText', selectors: ['#a'], field: 'a.constructor.b' },
  { type: 'extractText', selectors: ['#a'], field: 'a..b' },
  { type: 'extractText', selectors: ['#a'], variable: 'prototype' },
  { type: 'extractHtml', keepAs: '../x' },
  { type: 'extractJson', field: 'a' },
  { type: 'extractJson', field: 'a', selectors: ['#a'], pointer: 'a/b' },
  { type: 'extractRecords', selectors: ['tr'], field: 'a', fields: {} },
  { type: 'extractRecords', selectors: ['tr'], field: 'a', fields: { 'a b': {} } },
  { type: 'extractRecords', selectors: ['tr'], field: 'a', fields: { a: { read: 'attribute' } } },
  { type: 'if' },
  { type: 'if', condition: {}, then: [] },
  { type: 'if', condition: { type: 'exsts', selectors: ['#a'] }, then: [] },
  { type: 'if', condition: 'true', then: [] },
  { type: 'if', condition: { type: 'and', conditions: [] }, then: [] },
  { type: 'forEach', selectors: ['tr'], steps: [] },
  { type: 'forEach', selectors: ['tr'], steps: [], max: 0 },
  { type: 'forEach', selectors: ['tr'], steps: [], max: 1e9 },
  { type: 'repeat', max: 5, steps: [] },
  { type: 'repeat', until: { type: 'url', url: '/a' }, steps: [] },
  { type: 'repeat', until: { type: 'url', url: '/a' }, max: Infinity, steps: [] },
  { type: 'try' },
  { type: 'call' },
  { type: 'call', sequence: 'nowhere' },
  { type: 'call', sequence: 'constructor' },
  { type: 'call', sequence: '__proto__' },
  { type: 'stop', outcome: 'success!' },
  { type: 'stop' },
  { type: 'assertUrl', url: {} },
  JSON.parse('{"type": "click", "selectors": ["#a"], "__proto__": {"x": 1}}'),
  { type: 'click', selectors: ['#a'], constructor: 1 },
  nest(20, GOTO),
  nest(200, GOTO),
];

const WHOLE: readonly (readonly [what: string, document: unknown, named: RegExp])[] = [
  ['nothing', null, /expected object/],
  ['a list', [SEARCH], /expected object/],
  ['a text', 'goto', /expected object/],
  ['no steps', { ...SEARCH, steps: [] }, /^steps: /],
  ['steps that are an object', { ...SEARCH, steps: {} }, /^steps: /],
  [
    '10,000 steps',
    { ...SEARCH, steps: Array.from({ length: 10_000 }, () => GOTO) },
    /^steps: there are more than 1000 steps/,
  ],
  ['a million values', { ...SEARCH, output: Array.from({ length: 60_000 }, () => 0) }, /more than 50000 values/],
  ['no page', { ...SEARCH, steps: [{ type: 'reload' }] }, /^steps: no step opens a page/],
  ['no id', { ...SEARCH, id: undefined }, /^id: /],
  ['a path as its id', { ...SEARCH, id: '../../etc/passwd' }, /^id: /],
  ['a prototype as its id', { ...SEARCH, id: '__proto__' }, /^id: /],
  ['no hosts', { ...SEARCH, hosts: [] }, /^hosts: /],
  ['every host', { ...SEARCH, hosts: ['*'] }, /^hosts\.0: /],
  ['a URL as its host', { ...SEARCH, hosts: ['https://county.example.gov/'] }, /^hosts\.0: /],
  ['an unknown engine', { ...SEARCH, engine: 'curl' }, /^engine: /],
  ['an unknown field', { ...SEARCH, setup: 'rm -rf' }, /^setup: there is no such field/],
  ['a wrong version', { ...SEARCH, version: 1 }, /^version: /],
  [
    'a schema that is not of an object',
    { ...SEARCH, input: { type: 'string' } },
    /^input: must be the schema of an object/,
  ],
  [
    'a schema with a bad pattern',
    { ...SEARCH, input: { type: 'object', properties: { a: { type: 'string', pattern: '(a+)+$' } } } },
    /^input: the pattern/,
  ],
  [
    'a schema that refers elsewhere',
    { ...SEARCH, input: { type: 'object', properties: { a: { $ref: 'http://a/b' } } } },
    /^input: \$ref/,
  ],
  [
    'a schema that refers to itself',
    { ...SEARCH, output: { type: 'object', properties: { a: { $ref: '#' } } } },
    /^output: \$ref/,
  ],
  [
    'a schema of an unknown type',
    { ...SEARCH, output: { type: 'object', properties: { a: { type: 'money' } } } },
    /^output: /,
  ],
  [
    'a sequence that calls itself',
    { ...withStep({ type: 'call', sequence: 'a' }), sequences: { a: [{ type: 'call', sequence: 'a' }] } },
    /^step a\.1 \(call\), sequence: calls itself/,
  ],
  [
    'sequences that call each other',
    {
      ...withStep({ type: 'call', sequence: 'a' }),
      sequences: {
        a: [{ type: 'call', sequence: 'b' }],
        b: [{ type: 'try', steps: [{ type: 'call', sequence: 'c' }] }],
        c: [GOTO, { type: 'if', condition: { type: 'url', url: '/x' }, then: [{ type: 'call', sequence: 'a' }] }],
      },
    },
    /^step c\.2\.then\.1 \(call\), sequence: calls itself without end: a → b → c → a/,
  ],
  [
    'a prototype as the name of a sequence',
    JSON.parse(`{"id": "a", "hosts": ["a.b"], "steps": [], "sequences": {"__proto__": []}}`),
    /__proto__: is a name that cannot be used/,
  ],
  ['endless conditions', withStep({ type: 'if', condition: deepNot(100), then: [] }), /^step 2 \(if\), condition/],
  ['a wrong recovery', { ...SEARCH, recovery: { startOver: 1_000 } }, /^recovery\.startOver: /],
  ['a wrong timeout', { ...SEARCH, timeouts: { stepMs: 1e12 } }, /^timeouts\.stepMs: /],
];

function deepNot(levels: number): unknown {
  let condition: unknown = { type: 'url', url: '/a' };
  for (let level = 0; level < levels; level += 1) condition = { type: 'not', condition };
  return condition;
}

const SECOND = /^step 2(?:\.[\w.]+)? \(/;

export const BROKEN_RECORDINGS: readonly BrokenRecording[] = [
  ...UNKNOWN_STEPS.map((type) => broken(`the step ${JSON.stringify(type.slice(0, 20))}`, { type, selectors: ['#a'] })),
  ...BAD_SELECTORS.map((each) => broken(`the selector ${each.slice(0, 20)}`, { type: 'click', selectors: [each] })),
  ...BAD_PATTERNS.map((matches) =>
    broken(`the pattern ${matches.slice(0, 20)}`, { type: 'waitForText', text: { matches } }),
  ),
  ...BAD_TEMPLATES.map((value) =>
    broken(`the template ${value.slice(0, 30)}`, { type: 'fill', selectors: ['#a'], value }),
  ),
  ...BAD_STEPS.map((step) => broken(JSON.stringify(step).slice(0, 60), step)),
  ...WHOLE.map(([what, document, named]) => ({ what, document, named })),
];

function broken(what: string, step: unknown): BrokenRecording {
  return { what, document: withStep(step), named: SECOND };
}
