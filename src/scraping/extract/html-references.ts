import { Parser } from 'htmlparser2';

/**
 * Decodes the character references of a text or of the value of an attribute. The usual ones are decoded here, all others by
 * htmlparser2, which knows the two thousand names and the rules for those without a semicolon.
 */

const USUAL = /^[^&]*(?:&(?:lt|gt|amp|quot|nbsp|#\d{2,4});[^&]*)*$/;
const EACH_USUAL = /&(?:lt|gt|amp|quot|nbsp|#\d{2,4});/g;
const NAMED: Readonly<Record<string, string>> = {
  '&lt;': '<',
  '&gt;': '>',
  '&amp;': '&',
  '&quot;': '"',
  '&nbsp;': '\u00a0',
};

/** Numbers below stand for control characters, or for characters of Windows. */
const FIRST_PLAIN = 160;

/** What htmlparser2 makes of a piece of a page: its text, or the value of its last attribute. */
class PieceReader {
  #found = '';
  readonly #parser = new Parser({
    ontext: (piece) => {
      this.#found += piece;
    },
    onattribute: (_, value) => {
      this.#found = value;
    },
  });

  read(piece: string): string {
    this.#found = '';
    this.#parser.parseComplete(piece);
    // It would keep the page in memory.
    this.#parser.reset();
    return this.#found;
  }
}

const PIECES = new PieceReader();

function decodeUsual(reference: string): string {
  const named = NAMED[reference];
  if (named !== undefined) return named;
  const code = Number(reference.slice(2, -1));
  return (code >= 32 && code < 127) || code >= FIRST_PLAIN ? String.fromCharCode(code) : PIECES.read(reference);
}

/** `isLast` if nothing follows in the page. */
export function decodeText(text: string, isLast: boolean): string {
  if (USUAL.test(text)) return text.replace(EACH_USUAL, decodeUsual);
  // What is not the beginning of a tag here might be one for the parser.
  const piece = text.replaceAll('<', '&lt;');
  // A tag that does not end is left out, and ends the text as in the page.
  return PIECES.read(isLast ? piece : `${piece}<a`);
}

/** `quote` is what the value is written in; empty for nothing. */
export function decodeValue(text: string, quote: '"' | "'" | ''): string {
  return USUAL.test(text) ? text.replace(EACH_USUAL, decodeUsual) : PIECES.read(`<a b=${quote}${text}${quote}>`);
}
