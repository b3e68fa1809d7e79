/**
 * The charset that a form is sent in, and texts written in it, as browsers do it: a search for `Peña` on a windows-1252
 * site that is sent in UTF-8 finds nothing.
 *
 * Node has a decoder for every charset of the web and no encoder but UTF-8's. `@exodus/bytes` is what jsdom uses: the
 * encoders and the percent-encoding of the WHATWG standards, `&#NNN;` for what a charset lacks included, without
 * dependencies of its own. iconv-lite would have needed all of that around it, and differs from browsers in its tables.
 */

/** Texts on their way into a form. */
export interface FormCharset {
  /** As browsers name it in a field `_charset_`. */
  readonly name: string;
  /** For the query of an address, or an urlencoded body. */
  urlEncode(entries: readonly (readonly [name: string, value: string])[]): string;
  bytes(text: string): Uint8Array;
}

const UTF_8: FormCharset = {
  name: 'UTF-8',
  urlEncode: (entries) => new URLSearchParams(entries.map(([name, value]) => [name, value])).toString(),
  bytes: (text) => Buffer.from(text),
};

/** `label` is any name of a charset; UTF-8 if it is unknown or cannot be sent. */
export async function formCharset(label: string): Promise<FormCharset> {
  const encoding = encodingNamed(label) ?? 'utf-8';
  return encoding === 'utf-8' ? UTF_8 : legacyCharset(encoding);
}

/** The charset that a form's `accept-charset` asks for: the first known one, or that of the page. */
export function charsetOfForm(acceptCharset: string | undefined, charsetOfPage: string): string {
  const labels = (acceptCharset ?? '').split(/[\s,]+/).filter(Boolean);
  return labels.map(encodingNamed).find((encoding) => encoding !== null) ?? charsetOfPage;
}

/** All but letters, digits and `*-._` is escaped in an urlencoded form. */
const ESCAPED_IN_FORMS = ' !"#$%&\'()+,/:;<=>?@[\\]^`{|}~';

/** Loaded on demand: the tables are large, and most sites use UTF-8. */
async function legacyCharset(encoding: string): Promise<FormCharset> {
  await import('@exodus/bytes/encoding.js');
  const { percentEncodeAfterEncoding } = await import('@exodus/bytes/whatwg.js');
  const escaped = (text: string) => percentEncodeAfterEncoding(encoding, text, ESCAPED_IN_FORMS, true);
  return {
    name: nameOf(encoding),
    urlEncode: (entries) => entries.map(([name, value]) => `${escaped(name)}=${escaped(value)}`).join('&'),
    bytes: (text) => percentDecoded(percentEncodeAfterEncoding(encoding, text, '%')),
  };
}

/** `latin1` is windows-1252. Null for a name that is not known. */
function encodingNamed(label: string): string | null {
  try {
    const { encoding } = new TextDecoder(label);
    // A page may be in UTF-16, but nothing is ever sent in it.
    return encoding.startsWith('utf-16') ? 'utf-8' : encoding;
  } catch {
    return null;
  }
}

function percentDecoded(text: string): Uint8Array {
  return Buffer.from(
    text.replaceAll(/%([\dA-F]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16))),
    'latin1',
  );
}

/** Decoders have small letters in their names; the standard's own are these. */
function nameOf(encoding: string): string {
  if (/^(?:windows-|x-mac-|macintosh|gb18030)/.test(encoding)) return encoding;
  return encoding === 'big5' ? 'Big5' : encoding === 'shift_jis' ? 'Shift_JIS' : encoding.toUpperCase();
}
