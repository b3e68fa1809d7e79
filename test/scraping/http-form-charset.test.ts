import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import fc from 'fast-check';
import { formCharset } from '../../src/scraping/http/form-charset.ts';
import { openClient, openSite } from './http-support.ts';

/** A page in some charset with one form, and what its submission sends. */
async function openForm(
  t: TestContext,
  { charset, form, text = '' }: { charset: string; form: string; text?: string | Uint8Array },
) {
  const site = await openSite(t, ({ path }) =>
    path === '/'
      ? {
          headers: { 'content-type': `text/html${charset}` },
          body: Buffer.concat([Buffer.from(form), Buffer.from(text)]),
        }
      : 'ok',
  );
  const page = await openClient(t).get(site.origin);
  return {
    page,
    async send(values: Readonly<Record<string, string>>): Promise<{ line: string; bytes: string }> {
      await page.form().fill(values).submit();
      const last = site.asked.at(-1);
      assert.ok(last);
      return { line: last.target, bytes: Buffer.from(last.bytes).toString('latin1') };
    },
  };
}

const GET = '<form action=/f><input name=q></form>';
const POST = '<form action=/f method=post><input name=q></form>';
const MULTIPART = '<form action=/f method=post enctype="multipart/form-data"><input name="ñ"></form>';

test('a form of a windows-1252 page is sent in windows-1252, by GET and by POST', async (t) => {
  const charset = '; charset=windows-1252';
  assert.equal((await (await openForm(t, { charset, form: GET })).send({ q: 'Peña & Co' })).line, '/f?q=Pe%F1a+%26+Co');
  assert.equal((await (await openForm(t, { charset, form: POST })).send({ q: 'Peña €’' })).bytes, 'q=Pe%F1a+%80%92');
});

test('the parts of a multipart form are in the charset of the page, their names too', async (t) => {
  const form = Buffer.from(MULTIPART, 'latin1');
  const { send } = await openForm(t, { charset: '; charset=iso-8859-1', form: '', text: form });
  const { bytes } = await send({ ñ: 'Peña 日' });
  assert.match(bytes, /name="\xf1"\r\n\r\nPe\xf1a &#26085;\r\n/);
});

test('what the charset lacks is sent as a character reference, as browsers do', async (t) => {
  const { send } = await openForm(t, { charset: '; charset=windows-1252', form: POST });
  assert.equal((await send({ q: '日 😀 &#1;' })).bytes, 'q=%26%2326085%3B+%26%23128512%3B+%26%231%3B');
});

test('the charset goes by the names that browsers know, and by what the page says of itself', async (t) => {
  for (const label of ['latin1', 'ISO-8859-1', 'ascii', '"Windows-1252"', 'cp1252']) {
    const { page, send } = await openForm(t, { charset: `; charset=${label}`, form: POST });
    assert.equal((await send({ q: '’ñ' })).bytes, 'q=%92%F1', label);
    assert.equal(page.charset, 'windows-1252');
  }
  const meta = `<meta http-equiv=content-type content="text/html; charset=iso-8859-1">${POST}`;
  assert.equal((await (await openForm(t, { charset: '', form: meta })).send({ q: 'ñ' })).bytes, 'q=%F1');
  const unsaid = { charset: '', form: POST, text: Uint8Array.of(0xf1) };
  assert.equal((await (await openForm(t, unsaid)).send({ q: 'ñ' })).bytes, 'q=%F1');
  assert.equal((await (await openForm(t, { charset: '', form: POST, text: 'ñ' })).send({ q: 'ñ' })).bytes, 'q=%C3%B1');
});

test('nothing is sent in UTF-16, and accept-charset outranks the page', async (t) => {
  const utf16 = Buffer.from(`\ufeff${POST}`, 'utf16le');
  assert.equal((await (await openForm(t, { charset: '', form: '', text: utf16 })).send({ q: 'ñ' })).bytes, 'q=%C3%B1');
  const cases = [
    ['utf-8', 'q=%C3%B1'],
    ['nonsense, iso-8859-1 utf-8', 'q=%F1'],
    ['utf-16', 'q=%C3%B1'],
    ['nonsense', 'q=%F1'],
    ['', 'q=%F1'],
  ] as const;
  for (const [accept, sent] of cases) {
    const form = POST.replace('<form', `<form accept-charset="${accept}"`);
    const { send } = await openForm(t, { charset: '; charset=windows-1252', form });
    assert.equal((await send({ q: 'ñ' })).bytes, sent, accept);
  }
});

test('charsets with several bytes per character are sent as browsers send them', async (t) => {
  const cases = [
    ['shift_jis', '日本ソ', 'q=%93%FA%96%7B%83%5C'],
    ['euc-kr', '한국', 'q=%C7%D1%B1%B9'],
    ['gb2312', '中国', 'q=%D6%D0%B9%FA'],
    ['big5', '台北', 'q=%A5x%A5_'],
  ] as const;
  for (const [label, text, sent] of cases) {
    const { send } = await openForm(t, { charset: `; charset=${label}`, form: POST });
    assert.equal((await send({ q: text })).bytes, sent, label);
  }
});

test('a field _charset_ says what the form is in', async (t) => {
  const form = POST.replace('</form>', '<input type=hidden name=_charset_></form>');
  const { send } = await openForm(t, { charset: '; charset=latin1', form });
  assert.equal((await send({ q: 'x' })).bytes, 'q=x&_charset_=windows-1252');
  const utf8 = await openForm(t, { charset: '; charset=utf-8', form });
  assert.equal((await utf8.send({ q: 'x' })).bytes, 'q=x&_charset_=UTF-8');
});

test('a POST that a scraper builds itself is sent in the charset that it names', async (t) => {
  const site = await openSite(t, () => 'ok');
  await openClient(t).post(site.origin, { form: { q: 'Peña' }, charset: 'latin1' });
  assert.equal(site.asked[0]?.body, 'q=Pe%F1a');
});

/** Charsets with one byte per character. What a decoder reads, the encoder writes. */
const SINGLE = [
  'windows-1250',
  'windows-1252',
  'windows-1251',
  'iso-8859-2',
  'iso-8859-15',
  'koi8-r',
  'ibm866',
  'macintosh',
];

test('any text that a charset can hold comes back from it', async () => {
  for (const label of SINGLE) {
    const charset = await formCharset(label);
    const letters = [...new TextDecoder(label).decode(Uint8Array.from({ length: 256 }, (_, byte) => byte))];
    const known = letters.filter((letter) => letter !== '\ufffd');
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...known) }), (text) => {
        assert.equal(new TextDecoder(label).decode(charset.bytes(text)), text, label);
      }),
    );
  }
});
