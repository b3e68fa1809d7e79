import { writeCodeSpan } from './code-block.ts';
import { escapeText, isWordCharacter } from './escape-text.ts';

export type MarkKind = 'strong' | 'em' | 'del' | 'sub' | 'sup' | 'link';

/** An element around text: written with its first text, so that an empty one leaves nothing. */
interface Mark {
  readonly kind: MarkKind;
  /** Target of a link. */
  readonly url: string;
  open: string;
  close: string;
  openAt: number;
  /** Emphasis inside of it that ended directly before it. */
  inner: Mark | null;
}

const SIGNS: Readonly<Record<Exclude<MarkKind, 'link'>, { open: string; close: string }>> = {
  strong: { open: '**', close: '**' },
  em: { open: '*', close: '*' },
  del: { open: '~~', close: '~~' },
  sub: { open: '<sub>', close: '</sub>' },
  sup: { open: '<sup>', close: '</sup>' },
};
const HTML_NAMES = { strong: 'strong', em: 'em', del: 'del' } as const;

/** White space of HTML, including the non-breaking space; and zero-width characters. */
const UNEVEN = /[\t\n\r\f\u00a0\u00ad\u200b\u2060\ufeff\0]| {2}/;
const WIDTHLESS = /[\u00ad\u200b\u2060\ufeff\0]/g;
const SPACES = /[ \t\n\r\f\u00a0]+/g;

/** Separates what must not touch, and is not shown. */
const NOTHING = '<!-- -->';
/** In characters: each further one is put together again. */
const MAX_JOINED_CODE = 1000;

/**
 * Collects the text of one block, from elements that may begin and end anywhere. White space is collapsed as in a
 * browser, and moved out of emphasis, because `** a **` is not bold. Where Markdown's own signs would not be understood
 * (`a**"b"**c`), the elements are written as HTML.
 */
export class InlineWriter {
  /** What a `<br>` becomes: in a table or a heading there is only one line. */
  readonly #lineBreak: string;
  #pieces: string[] = [];
  /** The last character written; empty at the start and after a line break. */
  #last = '';
  /** The text of the code span that was written last, if nothing was since. */
  #code = '';
  #hasSpace = false;
  #hasBreak = false;
  readonly #marks: Mark[] = [];
  #opened = 0;
  /** The emphasis that ended with the last piece. */
  #closed: Mark | null = null;

  constructor(lineBreak: string) {
    this.#lineBreak = lineBreak;
  }

  /** For a heading or a cell: it begins inside the same link. */
  fork(lineBreak: string): InlineWriter {
    const writer = new InlineWriter(lineBreak);
    const link = this.#marks.findLast(({ kind }) => kind === 'link');
    if (link !== undefined) writer.open('link', link.url);
    return writer;
  }

  text(data: string): void {
    const text = UNEVEN.test(data) ? data.replace(WIDTHLESS, '').replace(SPACES, ' ') : data;
    if (text === '') return;
    if (text === ' ') {
      this.#hasSpace = true;
      return;
    }
    const begin = text.startsWith(' ') ? 1 : 0;
    const end = text.endsWith(' ') ? text.length - 1 : text.length;
    if (begin === 1) this.#hasSpace = true;
    const trimmed = text.slice(begin, end);
    this.#prepare(trimmed[0] ?? '');
    const isInLink = this.#marks.some(({ kind }) => kind === 'link');
    this.#push(escapeText(trimmed, this.#last, isInLink), trimmed[trimmed.length - 1] ?? '');
    if (end < text.length) this.#hasSpace = true;
  }

  /** Markdown that is already written: a code span, an image. */
  raw(markdown: string): void {
    this.#prepare(markdown[0] ?? '');
    this.#push(markdown, markdown[markdown.length - 1] ?? '');
  }

  /** A code span. Two adjacent ones are joined: their backticks would be taken for a longer fence. */
  code(text: string): void {
    const before = this.#touches() ? this.#code : '';
    const isJoined = before !== '' && before.length + text.length < MAX_JOINED_CODE;
    if (isJoined) this.#pieces.pop();
    else this.#prepare('`');
    const code = isJoined ? before + text : text;
    if (!isJoined && this.#last === '`' && !this.#pieces.at(-1)?.endsWith('\\`')) this.#push(NOTHING, '>');
    this.#push(writeCodeSpan(code), '`');
    this.#code = code;
  }

  #touches(): boolean {
    return this.#last === '`' && !this.#hasSpace && !this.#hasBreak && this.#opened === this.#marks.length;
  }

  /** A reference to a footnote, which is not part of emphasis and directly follows the text before it. */
  note(markdown: string): void {
    if (this.#closed !== null) this.#settleClosed('[');
    this.#hasSpace = false;
    this.#push(markdown, ']');
  }

  /** A new line, if anything follows. */
  break(): void {
    this.#hasBreak = true;
  }

  space(): void {
    this.#hasSpace = true;
  }

  open(kind: MarkKind, url = ''): void {
    const signs = kind === 'link' ? { open: '[', close: `](${url})` } : SIGNS[kind];
    this.#marks.push({ kind, url, ...signs, openAt: -1, inner: null });
  }

  /** Ends what was opened last. */
  close(): void {
    const mark = this.#marks.pop();
    if (mark === undefined || this.#marks.length >= this.#opened) return;
    this.#opened -= 1;
    this.#writeClose(mark);
  }

  /** Everything since the last call. Elements that are still open continue in the next block. */
  take(): string {
    if (this.#pieces.length > 0) {
      for (let index = this.#opened - 1; index >= 0; index -= 1) {
        const mark = this.#marks[index];
        if (mark !== undefined) this.#writeClose(mark);
      }
    }
    const text = this.#pieces.length === 1 ? (this.#pieces[0] ?? '') : this.#pieces.join('');
    this.#pieces = [];
    this.#last = '';
    this.#hasSpace = false;
    this.#hasBreak = false;
    this.#opened = 0;
    this.#closed = null;
    return text;
  }

  #prepare(next: string): void {
    if (this.#pieces.length > 0) {
      if (this.#hasBreak) this.#push(this.#lineBreak, '');
      else if (this.#hasSpace) this.#push(' ', ' ');
    }
    this.#hasBreak = false;
    this.#hasSpace = false;
    if (this.#opened < this.#marks.length) this.#openMarks(next);
    else if (this.#closed !== null) this.#settleClosed(next);
  }

  #openMarks(next: string): void {
    for (let index = this.#opened; index < this.#marks.length; index += 1) {
      const mark = this.#marks[index];
      if (mark === undefined) continue;
      this.#opened = index + 1;
      const inner = this.#marks[index + 1];
      this.#writeOpen(mark, index, inner === undefined ? next : (inner.open[0] ?? ''));
    }
    if (this.#closed !== null) this.#settleClosed(next);
  }

  #writeOpen(mark: Mark, index: number, next: string): void {
    if (this.#isInside(mark.kind, index)) {
      mark.open = '';
      mark.close = '';
      return;
    }
    if (this.#joins(mark)) return;
    const followsEmphasis = this.#closed !== null;
    if (followsEmphasis) this.#settleClosed(mark.open[0] ?? '');
    if (isEmphasis(mark.kind)) this.#chooseSigns(mark, next, followsEmphasis);
    // An exclamation mark before a link would make it an image.
    if (mark.kind === 'link' && this.#last === '!') this.#escapeLast();
    mark.openAt = this.#pieces.length;
    this.#push(mark.open, mark.open[mark.open.length - 1] ?? '');
  }

  #escapeLast(): void {
    const at = this.#pieces.length - 1;
    const piece = this.#pieces[at] ?? '';
    if (piece.endsWith('!')) this.#pieces[at] = `${piece.slice(0, -1)}\\!`;
  }

  /** `<b>a</b><b>b</b>` is one bold text: `**a****b**` would not be understood. */
  #joins(mark: Mark): boolean {
    const closed = this.#closed;
    if (closed === null || closed.kind !== mark.kind || mark.kind === 'link') return false;
    this.#pieces.pop();
    this.#closed = closed.inner;
    Object.assign(mark, { open: closed.open, close: closed.close, openAt: closed.openAt });
    this.#last = lastCharacter(this.#pieces);
    return true;
  }

  #chooseSigns(mark: Mark, next: string, followsEmphasis: boolean): void {
    const kind = mark.kind as keyof typeof HTML_NAMES;
    // Adjacent stars are hard to tell apart, even for programs.
    const isNested = kind === 'em' && this.#marks.some((other) => other !== mark && isEmphasis(other.kind));
    if ((this.#last === '*' && followsEmphasis && kind !== 'del') || (isNested && !isWordCharacter(this.#last))) {
      mark.open = mark.open.replaceAll('*', '_');
      mark.close = mark.open;
    }
    if (isWordCharacter(this.#last) && !isWordCharacter(next)) this.#useHtml(mark);
  }

  #useHtml(mark: Mark): void {
    const name = HTML_NAMES[mark.kind as keyof typeof HTML_NAMES];
    mark.open = `<${name}>`;
    mark.close = `</${name}>`;
  }

  #writeClose(mark: Mark): void {
    if (mark.close === '') return;
    mark.inner = this.#closed;
    this.#push(mark.close, mark.close[mark.close.length - 1] ?? '');
    if (isEmphasis(mark.kind)) this.#closed = mark;
  }

  /** Only now is it known what follows the emphasis. */
  #settleClosed(next: string): void {
    const mark = this.#closed;
    this.#closed = null;
    if (mark === null || mark.open.startsWith('<') || !isWordCharacter(next)) return;
    const closeAt = this.#pieces.length - 1;
    const isPlain = mark.open[0] !== '_' && isWordCharacter(lastCharacter(this.#pieces, closeAt));
    if (isPlain) return;
    this.#useHtml(mark);
    this.#pieces[mark.openAt] = mark.open;
    this.#pieces[closeAt] = mark.close;
    this.#last = '>';
  }

  #isInside(kind: MarkKind, index: number): boolean {
    for (let outer = 0; outer < index; outer += 1) if (this.#marks[outer]?.kind === kind) return true;
    return false;
  }

  #push(piece: string, last: string): void {
    this.#pieces.push(piece);
    this.#last = last;
    this.#closed = null;
    this.#code = '';
  }
}

function isEmphasis(kind: MarkKind): boolean {
  return kind === 'strong' || kind === 'em' || kind === 'del';
}

function lastCharacter(pieces: readonly string[], end = pieces.length): string {
  const piece = pieces[end - 1] ?? '';
  return piece[piece.length - 1] ?? '';
}
