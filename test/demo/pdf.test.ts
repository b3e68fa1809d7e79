import assert from 'node:assert/strict';
import { test } from 'node:test';
import { billDocument } from '../../demo/bill-document.ts';
import { dollars } from '../../demo/pages/html.ts';
import { parcelOf } from '../../demo/parcels.ts';
import { writePdf } from '../../demo/pdf.ts';

/** Reads a PDF the way a reader does: from its end to the table, and from there to the objects. */
function readPdf(file: Buffer): { trailer: string; objects: string[] } {
  const text = file.toString('latin1');
  assert.ok(text.startsWith('%PDF-1.4\n'), 'header');
  assert.ok(text.endsWith('\n%%EOF\n'), 'end');
  const start = Number(/startxref\n(\d+)\n%%EOF\n$/.exec(text)?.[1]);
  const table = /^xref\n0 (\d+)\n((?:\d{10} \d{5} [fn] \n)+)trailer\n(.*)\nstartxref/s.exec(text.slice(start));
  assert.ok(table !== null, 'the table is not where startxref says');
  const [, count, entries = '', trailer = ''] = table;
  const rows = entries.match(/.{20}/gs) ?? [];
  assert.equal(rows.length, Number(count));
  assert.equal(rows[0], '0000000000 65535 f \n');
  const objects = rows.slice(1).map((row, index) => {
    const body = text.slice(Number(row.slice(0, 10)));
    assert.ok(body.startsWith(`${index + 1} 0 obj\n`), `object ${index + 1} is not where the table says`);
    return body.slice(0, body.indexOf('\nendobj\n'));
  });
  return { trailer, objects };
}

test('a bill is a whole PDF: every object is where the table says, every stream as long as it says', () => {
  const file = billDocument(parcelOf(1, 3), 2025);
  assert.ok(file !== null);
  assert.ok(file.length > 10_000 && file.length < 40_000, `${file.length} bytes`);
  const { trailer, objects } = readPdf(file);
  assert.match(trailer, new RegExp(`^<< /Size ${objects.length + 1} /Root 1 0 R /Info 3 0 R >>$`));
  const streams = objects.flatMap((object) => {
    const [, length, content] = /^\d+ 0 obj\n<< \/Length (\d+) >>\nstream\n(.*)\nendstream$/s.exec(object) ?? [];
    return content === undefined ? [] : [[Number(length), content.length] as const];
  });
  assert.equal(streams.length, 3);
  for (const [said, found] of streams) assert.equal(said, found);
  for (const object of objects) {
    for (const [, target] of object.matchAll(/(\d+) 0 R/g)) assert.ok(Number(target) <= objects.length, object);
  }
});

test('a bill says what has to be paid for the parcel', () => {
  const parcel = parcelOf(1, 3);
  const text = billDocument(parcel, 2024)?.toString('latin1') ?? '';
  const bill = parcel.bills[3];
  assert.ok(bill !== undefined && bill.totalCents > 0);
  for (const part of [parcel.apn, parcel.owner, bill.number, '2024 REAL PROPERTY TAX BILL', dollars(bill.totalCents)]) {
    assert.ok(text.includes(part), part);
  }
  for (const { name } of parcel.districts) assert.ok(text.includes(name), name);
});

test('there is no bill of a year without one', () => {
  for (const year of [2020, 2026, Number.NaN]) assert.equal(billDocument(parcelOf(1, 3), year), null);
});

test('brackets, backslashes and letters that the font lacks cannot break the file', () => {
  const text = (value: string) => ({ kind: 'text', x: 1, y: 1, size: 9, font: 'regular', text: value }) as const;
  const file = writePdf('a) b', [{ marks: [text('PEÑA (TR) \\'), text('€ 한\n')] }]);
  const { objects } = readPdf(file);
  assert.match(objects[2] ?? '', /\/Title \(a\\\) b\)/);
  assert.match(objects.at(-1) ?? '', /\(PE\xd1A \\\(TR\\\) \\\\\) Tj/);
  assert.match(objects.at(-1) ?? '', /\(\? \?\?\) Tj/);
});
