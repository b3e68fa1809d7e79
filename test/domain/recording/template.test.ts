import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { renderStep } from '../../../src/domain/recording/render-step.ts';
import { renderTemplate } from '../../../src/domain/recording/render-template.ts';
import { parseTemplate, TemplateError } from '../../../src/domain/recording/template.ts';
import { sized } from '../../support/sized.ts';

const RUNS = { numRuns: sized({ quick: 300, slow: 20_000 }) };

function render(text: string, input: Record<string, unknown> = {}, vars: Record<string, unknown> = {}): string {
  return renderTemplate(text, { input, vars });
}

test('filters change a value from left to right', () => {
  const input = {
    apn: ' 503-51-079a ',
    day: '2025-01-31',
    us: '1/5/2025',
    n: 7,
    owner: { name: 'Ann' },
    list: ['a', 'b'],
  };
  const cases = [
    ['{{input.apn | digits | slice:0,3}}', '503'],
    ['{{input.apn|trim|upper}}', '503-51-079A'],
    ['{{ input.apn | trim | split:-,1 }}', '51'],
    ['{{input.apn | trim | split:-,-1}}', '079a'],
    ['{{input.apn | trim | replace:-,/}}', '503/51/079a'],
    ['{{input.apn | trim | replace:-}}', '50351079a'],
    ['{{input.apn | trim | replace:"-"," | "}}', '503 | 51 | 079a'],
    ['{{input.day | date:MM/DD/YYYY}}', '01/31/2025'],
    ['{{input.us | date:YYYY-MM-DD}}', '2025-01-05'],
    ['{{input.us | date:D.M.YY}}', '5.1.25'],
    ['{{input.none | default:x}}', 'x'],
    ['{{input.none | default:"a, b"}}', 'a, b'],
    ['{{input.none | upper | default:x | lower}}', 'x'],
    ['{{input.n}} of {{input.owner.name}}', '7 of Ann'],
    ['{{input.list.1}}', 'b'],
    ['\\{{input.n}}', '{{input.n}}'],
    ['} {', '} {'],
  ] as const;
  for (const [text, expected] of cases) assert.equal(render(text, input), expected, text);
});

test('a value that is missing is an error that names its field and placeholder', () => {
  assert.throws(() => render('{{input.apn}}'), /^TemplateError: \{\{input\.apn\}\} has no value$/);
  assert.throws(() => render('{{input.a}}', { a: { b: 1 } }), /is an object, not a text/);
  assert.throws(() => render('{{input.a | split:-,5}}', { a: 'x' }), /has no value/);
  assert.throws(() => render('{{input.a | date:YYYY}}', { a: '2/30/2025' }), /has no value/);
  const step = { type: 'fill' as const, selectors: ['#a'], value: 'a {{vars.token}}' };
  assert.throws(
    () => renderStep(step, { input: {}, vars: {} }),
    /^TemplateError: value: \{\{vars\.token\}\} has no value$/,
  );
});

test('a placeholder never reaches what objects have by their prototype', () => {
  for (const name of ['toString', 'hasOwnProperty', 'valueOf', '__defineGetter__', 'length']) {
    assert.throws(() => render(`{{input.${name}}}`), TemplateError);
    assert.throws(() => render(`{{input.a.${name}}}`, { a: 'text' }), TemplateError);
  }
  assert.equal(render('{{input.toString}}', { toString: 'own' }), 'own');
});

test('a value stays a value, wherever it is written', () => {
  const values = { input: { q: `a&b="c'd]*(x)/é` }, vars: {} };
  const at = (step: Parameters<typeof renderStep>[0]) => renderStep(step, values) as unknown as Record<string, unknown>;
  assert.equal(
    at({ type: 'goto', url: 'https://a.example/?q={{input.q}}' })['url'],
    "https://a.example/?q=a%26b%3D%22c'd%5D*(x)%2F%C3%A9",
  );
  assert.equal(
    at({ type: 'goto', url: 'https://a.example/{{input.q | raw}}' })['url'],
    `https://a.example/a&b="c'd]*(x)/é`,
  );
  const [css, text] = at({ type: 'click', selectors: ['[title="{{input.q}}"]', 'text/{{input.q}}'] })[
    'selectors'
  ] as string[];
  assert.equal(css, `[title="a\\&b\\=\\"c\\'d\\]\\*\\(x\\)\\/é"]`);
  assert.equal(text, `text/a&b="c'd]*(x)/é`);
  assert.throws(() => at({ type: 'click', selectors: ['xpath///a[.="{{input.q}}"]'] }), /quotation mark/);
  const { matches } = at({ type: 'waitForText', text: { matches: '^{{input.q}}$' } })['text'] as { matches: string };
  assert.ok(new RegExp(matches, 'u').test(values.input.q));
});

test('any text is a template or an error, and without placeholders it stays as it is', () => {
  const piece = fc.constantFrom(
    '{{',
    '}}',
    'input',
    '.',
    'a',
    '|',
    'slice',
    ':',
    '"',
    "'",
    ',',
    '0',
    ' ',
    '\\',
    'default',
  );
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.array(piece).map((pieces) => pieces.join('')),
      ),
      (text) => {
        try {
          parseTemplate(text);
          renderTemplate(text, { input: { a: 'x' }, vars: {} });
        } catch (error) {
          assert.ok(error instanceof TemplateError, String(error));
        }
        if (!text.includes('{{')) assert.equal(render(text), text);
      },
    ),
    RUNS,
  );
});

test('a value is written as it is, even one that looks like a placeholder', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.constant('{{input.b}}'), fc.constant('$&')), fc.string(), (value, around) => {
      const literal = around.replaceAll('{', '(').replaceAll('\\', '/');
      assert.equal(render(`${literal}{{input.a}}${literal}`, { a: value, b: 'no' }), `${literal}${value}${literal}`);
    }),
    RUNS,
  );
});
