import { isUtf8 } from 'node:buffer';

/**
 * The text of a body, read as browsers do: a byte order mark, then the header, then a `<meta>` in the first kilobyte,
 * then UTF-8 if it is valid, otherwise windows-1252. An unknown label is ignored. Bytes that break the encoding become
 * U+FFFD: half a county's pages have one.
 */
export function decodeText(body: Uint8Array, contentType: string | undefined): string {
  return readText(body, contentType).text;
}

/** The text, and the charset it was in: its forms are sent back in that charset. */
export function readText(
  body: Uint8Array,
  contentType: string | undefined,
): { readonly text: string; readonly charset: string } {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  const decoder = chooseDecoder(bytes, contentType);
  return { text: decoder.decode(bytes), charset: decoder.encoding };
}

function chooseDecoder(bytes: Buffer, contentType: string | undefined): TextDecoder {
  const named = byteOrderMark(bytes) ?? decoderFor(detectCharset(contentType));
  if (named !== null) return named;
  const meta = isMarkup(contentType) ? decoderFor(metaCharset(bytes)) : null;
  return meta ?? (isUtf8(bytes) ? UTF_8 : WINDOWS_1252);
}

/** The `charset=…` of a Content-Type. */
function detectCharset(contentType: string | undefined): string | null {
  if (contentType === undefined) return null;
  return /;\s*charset\s*=\s*"?([^\s";]+)/i.exec(contentType)?.[1] ?? null;
}

/** Decoding keeps no state between two texts, and creating a decoder costs as much as a small page. */
const UTF_8 = new TextDecoder();
const WINDOWS_1252 = new TextDecoder('windows-1252');

/** The decoders remove the mark themselves. */
function byteOrderMark(bytes: Buffer): TextDecoder | null {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) return UTF_8;
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return new TextDecoder('utf-16le');
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return new TextDecoder('utf-16be');
  return null;
}

function decoderFor(label: string | null): TextDecoder | null {
  if (label === null) return null;
  if (/^utf-?8$/i.test(label)) return UTF_8;
  try {
    return new TextDecoder(label);
  } catch {
    return null;
  }
}

const PRESCAN_BYTES = 1024;

/** Only what precedes the page's content can say it; a `<meta>` in a comment does not count. */
function metaCharset(bytes: Buffer): string | null {
  const start = bytes.toString('latin1', 0, PRESCAN_BYTES);
  if (!/charset|encoding/i.test(start)) return null;
  const open = start.replaceAll(/<!--[\s\S]*?(?:-->|$)/g, '');
  const label =
    /<meta\s[^>]*?charset\s*=\s*["']?\s*([a-z0-9_:.-]+)/i.exec(open)?.[1] ??
    /^\s*<\?xml[^>]*?\sencoding\s*=\s*["']([a-z0-9_:.-]+)/i.exec(open)?.[1];
  if (label === undefined) return null;
  // A page whose ASCII we could read is in neither of these, whatever it says; the standard treats them as UTF-8.
  if (/^(?:utf-?16|unicode|ucs-2)/i.test(label)) return 'utf-8';
  return /^x-user-defined$/i.test(label) ? 'windows-1252' : label;
}

/** Without a type it may well be a page. */
function isMarkup(contentType: string | undefined): boolean {
  return contentType === undefined || contentType === '' || /html|xml/i.test(contentType);
}
