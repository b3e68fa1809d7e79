import assert from 'node:assert/strict';
import { test } from 'node:test';
import { date, dollars, escapeHtml, percent, rate, thousands, wholeDollars } from '../../demo/pages/html.ts';

test('amounts are written as counties write them', () => {
  assert.deepEqual([0, 5, 99_999, 112_960, 123_456_789, -1250].map(dollars), [
    '$0.00',
    '$0.05',
    '$999.99',
    '$1,129.60',
    '$1,234,567.89',
    '($12.50)',
  ]);
  assert.deepEqual([0, 999, 1000, 1_000_007].map(thousands), ['0', '999', '1,000', '1,000,007']);
  assert.equal(wholeDollars(28_400), '$28,400');
  assert.deepEqual([0, 9968, 10_005, 123_456].map(rate), ['0.0000', '0.9968', '1.0005', '12.3456']);
  assert.deepEqual([0, 1000, 1550].map(percent), ['0.00%', '10.00%', '15.50%']);
  assert.deepEqual(['2025-10-01', '2026-03-11'].map(date), ['10/1/2025', '3/11/2026']);
});

test('no text can leave its element or its attribute', () => {
  assert.equal(escapeHtml(`<a href="x" b='y'>&amp;`), '&lt;a href=&quot;x&quot; b=&#39;y&#39;&gt;&amp;amp;');
});
