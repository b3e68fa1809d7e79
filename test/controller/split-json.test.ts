import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type JsonPart, JsonSplitter, MAX_FIELDS_BYTES } from '../../src/controller/intake/split-json.ts';
import { sized } from '../support/sized.ts';

/** All parts of a text that comes in pieces of this many bytes. */
function split(text: string, piece = text.length, maxEntryBytes = 2 ** 20): JsonPart[] {
  const splitter = new JsonSplitter('request', { maxEntryBytes });
  const bytes = Buffer.from(text);
  const parts: JsonPart[] = [];
  for (let at = 0; at < bytes.length && !splitter.isBroken; at += piece) {
    parts.push(...splitter.push(bytes.subarray(at, at + piece)));
  }
  const last = splitter.last();
  return last === null ? parts : [...parts, last];
}

/** The contents of the parts, put together again. */
function joined(parts: readonly JsonPart[]): Record<string, unknown> {
  const fields: [string, unknown][] = [];
  const items: unknown[] = [];
  for (const part of parts) {
    if (part.kind === 'field') fields.push([part.name, JSON.parse(Buffer.from(part.bytes).toString())]);
    else if (part.kind === 'entry') items[part.index] = JSON.parse(Buffer.from(part.bytes).toString());
    else assert.fail(JSON.stringify(part));
  }
  return { ...Object.fromEntries(fields), items };
}

const value = fc.jsonValue({ maxDepth: 4 });
const request = fc
  .tuple(fc.array(value, { maxLength: 6 }), fc.dictionary(fc.string(), value, { maxKeys: 5 }), fc.nat(5))
  .map(([items, fields, at]) => {
    const named = Object.entries(fields).filter(([name]) => name !== 'items');
    return Object.fromEntries([...named.slice(0, at), ['items', items], ...named.slice(at)]);
  });

test('a request is the same whatever pieces it comes in, and whatever white space it contains', () => {
  fc.assert(
    fc.property(request, fc.integer({ min: 1, max: 9 }), fc.constantFrom(0, 1, 2), (wanted, piece, indent) => {
      const expected = JSON.parse(JSON.stringify(wanted)) as Record<string, unknown>;
      assert.deepEqual(joined(split(JSON.stringify(wanted, null, indent), piece)), expected);
    }),
  );
});

test('anything that is not JSON is refused, by the splitter or by one of its pieces', () => {
  const isRead = (text: string): boolean => {
    try {
      joined(split(text, 3));
      return true;
    } catch {
      return false;
    }
  };
  const isJson = (text: string): boolean => {
    try {
      return typeof JSON.parse(text) === 'object';
    } catch {
      return false;
    }
  };
  const good = '{"a":{"b":[1,"]}"]},"items":[{"x":"\\"},{"},7,true],"c":-1.5e3}';
  assert.ok(isRead(good));
  fc.assert(
    fc.property(
      fc.nat(good.length - 1),
      fc.constantFrom('', '"', ',', '{', '}', '[', ']', ':', '\\', ' ', 'x'),
      (at, put) => {
        const text = good.slice(0, at) + put + good.slice(at + 1);
        // A name that is given twice is valid JSON but not a valid request.
        if (isRead(text)) assert.ok(isJson(text), text);
      },
    ),
    { numRuns: sized({ quick: 400, slow: 2000 }) },
  );
});

test('an invalid request is reported with the position of the error and what was expected there', () => {
  const cases: readonly (readonly [string, number, RegExp])[] = [
    ['', 0, /the bytes end before the request/],
    ['[1]', 0, /not a JSON object/],
    ['{"a":1,}', 7, /must begin with its name/],
    ['{"a" 1}', 5, /a colon must follow/],
    ['{"a":}', 5, /a value must follow/],
    ['{"a":1 "b":2}', 7, /a comma or } must follow/],
    ['{"items":[1,]}', 12, /an item must follow the comma/],
    ['{"items":[,1]}', 10, /an item, or \], must follow/],
    ['{"items":[1 2]}', 12, /a comma or \] must follow/],
    ['{"a":1}{', 7, /follows the end/],
    ['{"a":1,"a":2}', 9, /the field a is given twice/],
    ['{"items":[],"items":[1]}', 18, /the field items is given twice/],
    ['{"items":[{"a":1}', 17, /the bytes end before the request/],
    ['{"items":[1]', 12, /the bytes end before the request/],
  ];
  for (const [text, at, problem] of cases) {
    for (const piece of [1, 100]) {
      const last = split(text, piece).at(-1);
      assert.ok(last?.kind === 'broken', text);
      assert.deepEqual([last.at, problem.test(last.problem)], [at, true], `${text}: ${last.problem}`);
    }
  }
});

test('an entry that is too long is named and the others are read; fields that are too long end the request', () => {
  const parts = split(`{"items":[1,"${'x'.repeat(200)}",{"y":"${'x'.repeat(50)}"}]}`, 7, 100);
  assert.deepEqual(
    parts.map((part) => (part.kind === 'entry' || part.kind === 'too-long' ? [part.kind, part.index] : part)),
    [
      ['entry', 0],
      ['too-long', 1],
      ['entry', 2],
    ],
  );
  const fields = Array.from({ length: 40 }, (_, n) => `"f${n}":"${'x'.repeat(30_000)}"`);
  const last = split(`{${fields.join()}}`, 1000).at(-1);
  assert.ok(last?.kind === 'broken' && last.at <= MAX_FIELDS_BYTES + 1000 && /more than 1 MiB/.test(last.problem));
});

test('items that are not an array are treated like any other field', () => {
  assert.deepEqual(
    split('{"items":{"a":[1]}}').map(({ kind }) => kind),
    ['field'],
  );
});
