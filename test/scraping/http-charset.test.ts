import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { decodeText } from '../../src/scraping/http/charset.ts';

const HTML = 'text/html';
const CAFE_1252 = Uint8Array.of(0x63, 0x61, 0x66, 0xe9);

test('a byte order mark outranks the header, and is not part of the text', () => {
  const utf8 = Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from('café')]);
  assert.equal(decodeText(utf8, 'text/html; charset=windows-1252'), 'café');
  const utf16 = Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from('café', 'utf16le')]);
  assert.equal(decodeText(utf16, 'text/html; charset=utf-8'), 'café');
  const swapped = Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from('café', 'utf16le')]).swap16();
  assert.equal(decodeText(swapped, undefined), 'café');
});

test('the header outranks the page', () => {
  const page = Buffer.concat([Buffer.from('<meta charset="utf-8">'), CAFE_1252]);
  assert.equal(decodeText(page, 'text/html; charset="ISO-8859-1"'), '<meta charset="utf-8">café');
});

test('a page says its encoding in a meta element of either form', () => {
  for (const meta of [
    '<meta charset=windows-1252>',
    `<META HTTP-EQUIV='Content-Type' CONTENT='text/html; charset=iso-8859-1'>`,
    '<?xml version="1.0" encoding="windows-1252"?>',
  ]) {
    assert.equal(decodeText(Buffer.concat([Buffer.from(meta), CAFE_1252]), HTML), `${meta}café`);
  }
  const japanese = Buffer.concat([Buffer.from('<meta charset="shift_jis">'), Uint8Array.of(0x93, 0xfa)]);
  assert.equal(decodeText(japanese, HTML), '<meta charset="shift_jis">日');
});

test('a meta element in a comment, or beyond the first kilobyte, does not count', () => {
  const cafe = Buffer.from('café');
  const commented = '<!-- <meta charset="windows-1252"> -->';
  assert.equal(decodeText(Buffer.concat([Buffer.from(commented), cafe]), HTML), `${commented}café`);
  const open = '<!-- <meta charset="windows-1252">';
  assert.equal(decodeText(Buffer.concat([Buffer.from(open), cafe]), HTML), `${open}café`);
  const late = `${' '.repeat(1024)}<meta charset="windows-1252">`;
  assert.equal(decodeText(Buffer.concat([Buffer.from(late), cafe]), HTML), `${late}café`);
});

test('a page that claims to be UTF-16 in plain ASCII is read as UTF-8', () => {
  const page = '<meta charset="utf-16">café';
  assert.equal(decodeText(Buffer.from(page), HTML), page);
});

test('a page that claims an encoding of its own is read as windows-1252', () => {
  const meta = '<meta charset="x-user-defined">';
  assert.equal(decodeText(Buffer.concat([Buffer.from(meta), CAFE_1252]), HTML), `${meta}café`);
});

test('unknown labels are ignored', () => {
  const page = Buffer.concat([Buffer.from('<meta charset="windows-1252">'), CAFE_1252]);
  assert.equal(decodeText(page, 'text/html; charset=none-such'), '<meta charset="windows-1252">café');
  const hopeless = Buffer.concat([Buffer.from('<meta charset="none-such">'), CAFE_1252]);
  assert.equal(decodeText(hopeless, 'text/html; charset=utf-99'), '<meta charset="none-such">café');
});

test('a page that names no encoding is read as UTF-8 if it is valid, else as windows-1252', () => {
  assert.equal(decodeText(Buffer.from('café – ok'), HTML), 'café – ok');
  assert.equal(decodeText(Uint8Array.of(...CAFE_1252, 0x92), HTML), 'café’');
  assert.equal(decodeText(CAFE_1252, undefined), 'café');
  assert.equal(decodeText(CAFE_1252, 'application/json'), 'café');
});

test('bytes that break a named encoding cost a character, not the page', () => {
  assert.equal(decodeText(CAFE_1252, 'text/html; charset=utf-8'), 'caf\ufffd');
});

test('a view into a larger buffer is read, and nothing around it', () => {
  const whole = Buffer.from('secret page secret');
  assert.equal(decodeText(new Uint8Array(whole.buffer, whole.byteOffset + 7, 4), HTML), 'page');
});

test('any text comes back from UTF-8, and no bytes make decoding throw', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (text) => {
      const expected = text.replace(/^\ufeff/, '');
      assert.equal(decodeText(Buffer.from(text), 'text/html; charset=utf-8'), expected);
    }),
  );
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), fc.option(fc.string(), { nil: undefined }), (bytes, type) => {
      assert.equal(typeof decodeText(bytes, type), 'string');
    }),
  );
});
