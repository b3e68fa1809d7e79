import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseMoney } from '../../src/scraping/extract/parse-money.ts';
import { parseDate, parseNumber, parsePercent } from '../../src/scraping/extract/parse-values.ts';
import { anyText } from '../support/any-text.ts';
import { sized } from '../support/sized.ts';

test('money is read however a page writes it', () => {
  const amounts: readonly [text: string, value: number][] = [
    ['$1,129.60', 1129.6],
    ['1129.60', 1129.6],
    ['$0.00', 0],
    ['.50', 0.5],
    [' $ 1,000,000 ', 1_000_000],
    ['US$ 5', 5],
    ['USD 12.50', 12.5],
    ['12.50 USD', 12.5],
    ['\u00a0$12\u00a0', 12],
    ['+$12', 12],
    ['$5.00 USD', 5],
    ['usd 5', 5],
    ['€1,129.60', 1129.6],
    ['€ 1129.60', 1129.6],
    ['12.50 €', 12.5],
    ['£1,129', 1129],
    ['¥ 12,000', 12_000],
    ['￥5', 5],
    ['CAD 1,129.60', 1129.6],
    ['GBP1,129', 1129],
    ['1,129.60 EUR', 1129.6],
  ];
  for (const [text, value] of amounts) assert.equal(parseMoney(text), value, text);
});

test('brackets, and a minus anywhere around it, make an amount negative', () => {
  const texts = [
    '-$12.50',
    '$-12.50',
    '- 12.50',
    '12.50-',
    '$12.50-',
    '($12.50)',
    '$(12.50)',
    '(12.50)',
    '\u2212$12.50',
    '(€12.50)',
    '€12.50-',
    '12.50- EUR',
    '12.50 EUR-',
    'EUR (12.50)',
    '(12.50) EUR',
    '-12,50 €',
    '(12,50 €)',
    '12,50- EUR',
  ];
  for (const text of texts) assert.equal(parseMoney(text), -12.5, text);
  assert.ok(Object.is(parseMoney('-$0.00'), 0), 'nothing is not negative');
});

test('text that only looks like an amount of money is not one', () => {
  const texts = [
    ...[
      'NOT TAXED',
      '',
      'N/A',
      '-',
      '$',
      '.',
      '12.',
      '1.2.3',
      '12,34,5',
      '1,23',
      ',123',
      '1,2345',
      '1 129.60',
      '12.5%',
    ],
    ...[
      '--5',
      '-(5)',
      '(5',
      '5)',
      '((5))',
      '-5-',
      '1e5',
      '0x10',
      'Infinity',
      'NaN',
      '\u0661',
      '5 6',
      '$$5',
      '€5 USD',
      '$5 €',
      'EUR 5 EUR',
      '(€5)-',
      '(5)) €',
      'TRY 5',
      'cad 5',
      'due $5',
    ],
    ...['1234567890123456', '9'.repeat(400), `$${' '.repeat(500)}5`],
  ];
  for (const text of texts) assert.equal(parseMoney(text), null, text);
});

test('European separators are read where they cannot be American ones', () => {
  const amounts: readonly [text: string, value: number][] = [
    ['1.234,50 EUR', 1234.5],
    ['1.234,50', 1234.5],
    ['$1.234,50', 1234.5],
    ['EUR 1.234.567,89', 1_234_567.89],
    ['1.234.567 €', 1_234_567],
    ['12,50 €', 12.5],
    ['1234,5 EUR', 1234.5],
    ['0,125 €', 0.125],
    ['0.125 €', 0.125],
    ['1 234,50 €', 1234.5],
    ['1\u202f234\u202f567 €', 1_234_567],
    ["CHF 1'234.50", 1234.5],
    ['1,234,567 €', 1_234_567],
  ];
  for (const [text, value] of amounts) assert.equal(parseMoney(text), value, text);
});

test('an ambiguous amount is not read, and an American one never changes', () => {
  const texts = ['1.234 €', '€1,234', 'EUR 12.345', '12,50', '$12,50', '1.234.567', '1 234,50', "1'234", '12.34,50 €'];
  for (const text of texts) assert.equal(parseMoney(text), null, text);
  assert.equal(parseMoney('$1.234'), 1.234);
  assert.equal(parseMoney('1,234'), 1234);
  assert.equal(parseMoney('£1,234'), 1234);
});

test('what a European page writes is read back as it was, or not at all', () => {
  const cents = fc.integer({ min: -99_999_999_999, max: 99_999_999_999 });
  const locales = fc.constantFrom('de-DE', 'fr-FR', 'es-ES', 'it-IT', 'nl-NL', 'de-CH', 'sv-SE', 'en-IE', 'pt-BR');
  fc.assert(
    fc.property(cents, locales, fc.integer({ min: 0, max: 2 }), (amount, locale, places) => {
      const value = Number((amount / 100).toFixed(places));
      const style = {
        style: 'currency',
        currency: 'EUR',
        minimumFractionDigits: places,
        maximumFractionDigits: places,
      };
      const text = new Intl.NumberFormat(locale, style as Intl.NumberFormatOptions).format(value);
      const read = parseMoney(text);
      // Without cents, a single group may be a fraction.
      if (read !== null || places > 0) assert.equal(read, value === 0 ? 0 : value, text);
    }),
  );
});

test('numbers have no currency, and percentages have their sign', () => {
  assert.equal(parseNumber('1,234.5'), 1234.5);
  assert.equal(parseNumber('(3)'), -3);
  assert.equal(parseNumber('0007'), 7);
  for (const text of ['$3', '3%', 'three', '', '3 acres', '12,34', `${'0'.repeat(70)}5`])
    assert.equal(parseNumber(text), null, text);
  assert.equal(parsePercent('10.00%'), 10);
  assert.equal(parsePercent('-11.70%'), -11.7);
  assert.equal(parsePercent('(11.70%)'), -11.7);
  assert.equal(parsePercent('(11.70)%'), -11.7);
  assert.equal(parsePercent('1,250 %'), 1250);
  for (const text of ['10', '%', '', '10%%', '(10%', '10)%', 'up 10%']) assert.equal(parsePercent(text), null, text);
});

test('dates are read month first, by name, or as ISO, with or without a time of day', () => {
  const texts = [
    ...['1/5/2025', '01/05/2025', '1-5-2025', '1/5/25', '2025-01-05', '2025/1/5', 'January 5, 2025', 'Jan 5 2025'],
    ...['JAN. 5, 2025', 'January 5th, 2025', '5-Jan-2025', '05-JAN-25', '5 January 2025', 'Sunday, January 5, 2025'],
    ...['1/5/2025 12:00:00 AM', '2025-01-05T23:30:00.000Z', '2025-01-05 00:00:00', 'Jan 5, 2025 at 3:15 pm MST'],
  ];
  for (const text of texts) assert.equal(parseDate(text), '2025-01-05', text);
  assert.equal(parseDate('Sept. 30, 2024'), '2024-09-30');
  assert.equal(parseDate('May 1 2024'), '2024-05-01');
});

test('two-digit years change century at fifty', () => {
  assert.equal(parseDate('1/1/49'), '2049-01-01');
  assert.equal(parseDate('1/1/50'), '1950-01-01');
});

test('a day that no calendar has is not a date', () => {
  const texts = [
    ...['2/30/2025', '2/29/2025', '13/1/2025', '0/1/2025', '1/0/2025', '2025-13-01', 'Foo 5, 2025', 'Jan 32, 2025'],
    ...['1/1/0001', '1/5', '2025', '20250105', '1/5-2025', '', 'N/A', 'due 1/5/2025', '5.1.2025', '1/5/2025 x'],
  ];
  for (const text of texts) assert.equal(parseDate(text), null, text);
  assert.equal(parseDate('2/29/2024'), '2024-02-29');
});

test('what is written as money is read back as it was', () => {
  const cents = fc.integer({ min: -99_999_999_999, max: 99_999_999_999 });
  fc.assert(
    fc.property(cents, fc.boolean(), fc.boolean(), (amount, groups, brackets) => {
      const value = Math.abs(amount) / 100;
      const digits = value.toLocaleString('en-US', { minimumFractionDigits: 2, useGrouping: groups });
      const text = amount >= 0 ? `$${digits}` : brackets ? `($${digits})` : `-$${digits}`;
      assert.equal(parseMoney(text), amount < 0 ? -value : value);
      assert.equal(parseNumber(text.replace('$', '')), amount < 0 ? -value : value);
      assert.equal(
        parsePercent(`${text.replace('$', '').replace(')', '')}%${text.endsWith(')') ? ')' : ''}`),
        parseMoney(text),
      );
    }),
  );
});

test('what is written as a date is read back as it was', () => {
  const days = fc.date({ min: new Date('1950-01-01'), max: new Date('2049-12-31'), noInvalidDate: true });
  const styles: readonly Intl.DateTimeFormatOptions[] = [
    { dateStyle: 'short' },
    { dateStyle: 'medium' },
    { dateStyle: 'long' },
    { dateStyle: 'full' },
    { dateStyle: 'short', timeStyle: 'short' },
    { year: 'numeric', month: '2-digit', day: '2-digit' },
  ];
  fc.assert(
    fc.property(days, fc.constantFrom(...styles), (day, style) => {
      const iso = day.toISOString();
      assert.equal(
        parseDate(new Intl.DateTimeFormat('en-US', { ...style, timeZone: 'UTC' }).format(day)),
        iso.slice(0, 10),
      );
      assert.equal(parseDate(iso), iso.slice(0, 10));
    }),
  );
});

test('any text gives a value or null, and never anything else', () => {
  const likely = fc.string({
    unit: fc.constantFrom(..."0123456789$€,.()-+% /:JanTPMZUSDER\u00a0\u2212'"),
    maxLength: 40,
  });
  fc.assert(
    fc.property(fc.oneof(anyText(), likely), (text) => {
      for (const parse of [parseMoney, parseNumber, parsePercent]) {
        const value = parse(text);
        assert.ok(value === null || Number.isFinite(value), text);
      }
      const date = parseDate(text);
      assert.ok(date === null || new Date(date).toISOString().startsWith(date), text);
    }),
    { numRuns: sized({ quick: 150, slow: 500 }) },
  );
});
