import {
  APOSTROPHE,
  BRACKET,
  DASH,
  EQUALS,
  EXCLAMATION,
  endsAttributeName,
  endsName,
  GREATER,
  isLetter,
  isSpace,
  QUESTION,
  QUOTE,
  SLASH,
} from './html-characters.ts';
import { decodeText, decodeValue } from './html-references.ts';
import { findAttribute, findTag, instructionName, RAW, RAW_NAMES, type Tag } from './html-tags.ts';

/** What is found in a page, in its order. */
export interface PageHandler {
  /** Before the element that has it. Also for one that is repeated, and left out. */
  onattribute(): void;
  onopentag(name: string, attribs: Record<string, string>): void;
  /** `isImplied` if there is no end tag. */
  onclosetag(name: string, isImplied: boolean): void;
  /** Neighbouring pieces belong together. */
  ontext(data: string): void;
  oncomment(data: string): void;
  onprocessinginstruction(name: string, data: string): void;
}

/**
 * Finds what htmlparser2 finds in a complete page, faster: it jumps from sign to sign instead of going through states letter
 * by letter, and looks each name up once. The rules about what ends what are those of htmlparser2, and a test compares the
 * two on all kinds of pages, whole and broken. See `parseHtml` for where they differ from a browser.
 */
export class HtmlParser {
  readonly #text: string;
  readonly #to: PageHandler;
  /** Open elements, the innermost last. */
  readonly #open: Tag[] = [];
  /** For each open `svg` or the like, whether `/>` ends an element in it. */
  readonly #foreign: boolean[] = [false];
  /** Where text that was not reported begins. */
  #section = 0;
  #at = 0;
  /** The next `&`, from where it was last looked for. */
  #reference = -1;
  /** Whether the tag that was read last ends with `/>`. */
  #isSelfClosing = false;

  constructor(text: string, to: PageHandler) {
    this.#text = text;
    this.#to = to;
  }

  run(): void {
    const text = this.#text;
    const { length } = text;
    for (;;) {
      const next = text.indexOf('<', this.#at);
      if (next < 0) break;
      this.#at = next + 1;
      this.#markup(next);
      if (this.#at >= length) break;
    }
    if (this.#section < length) this.#textUpTo(length);
    for (let tag = this.#open.pop(); tag !== undefined; tag = this.#open.pop()) this.#to.onclosetag(tag.name, true);
  }

  /** At the character after a `<`. Leaves `#at` where the search for the next one begins. */
  #markup(less: number): void {
    const at = less + 1;
    const code = this.#text.charCodeAt(at);
    if (isLetter(code)) {
      this.#textUpTo(less);
      this.#startTag(at);
    } else if (code === SLASH) this.#endTag(less);
    else if (code === EXCLAMATION) {
      this.#textUpTo(less);
      this.#declaration(at + 1);
    } else if (code === QUESTION) {
      this.#textUpTo(less);
      this.#instruction(at + 1);
    }
  }

  #textUpTo(end: number): void {
    const start = this.#section;
    this.#section = end;
    if (end <= start) return;
    const data = this.#text.slice(start, end);
    this.#to.ontext(this.#hasReference(start, end) ? decodeText(data, end === this.#text.length) : data);
  }

  #hasReference(start: number, end: number): boolean {
    if (this.#reference < start) {
      const found = this.#text.indexOf('&', start);
      this.#reference = found < 0 ? Number.MAX_SAFE_INTEGER : found;
    }
    return this.#reference < end;
  }

  /** The page ends in the middle of something. What it began with is left out; the rest is text as it is. */
  #stop(rest: number): void {
    const { length } = this.#text;
    if (rest < length) this.#to.ontext(this.#text.slice(rest));
    this.#goOn(length);
  }

  #goOn(after: number): void {
    this.#section = after;
    this.#at = after;
  }

  #startTag(start: number): void {
    const text = this.#text;
    let at = start + 1;
    while (!endsName(text.charCodeAt(at))) at += 1;
    if (at >= text.length) {
      const rest = text.slice(start).toLowerCase();
      const isRaw = RAW_NAMES.some((name) => name.startsWith(rest));
      this.#stop(isRaw ? start : text.length);
      return;
    }
    const tag = findTag(text.slice(start, at));
    this.#begin(tag);
    const attribs: Record<string, string> = {};
    this.#isSelfClosing = false;
    const end = text.charCodeAt(at) === GREATER ? at : this.#attributes(at, attribs);
    // A tag that does not end has begun all the same, and has ended what it ends.
    if (end < 0) return;
    const isClosed = this.#isSelfClosing;
    this.#goOn(end + 1);
    if (isClosed && this.#foreign[this.#foreign.length - 1] === true) {
      this.#close(tag, attribs, true);
      return;
    }
    this.#to.onopentag(tag.name, attribs);
    if (tag.isVoid) this.#to.onclosetag(tag.name, true);
    const raw = isClosed ? undefined : RAW.get(tag.name);
    if (raw !== undefined) this.#rawText(raw);
  }

  /** Closes what it ends, and opens it, without its attributes. */
  #begin(tag: Tag): void {
    const open = this.#open;
    const { ends } = tag;
    if (ends !== null) {
      for (let top = open[open.length - 1]; top !== undefined && ends.has(top.name); top = open[open.length - 1]) {
        open.pop();
        this.#to.onclosetag(top.name, true);
      }
    }
    if (tag.isVoid) return;
    open.push(tag);
    if (tag.foreign !== null) this.#foreign.push(tag.foreign);
  }

  /** Reports the element and its end. */
  #close(tag: Tag, attribs: Record<string, string>, isImplied: boolean): void {
    this.#to.onopentag(tag.name, attribs);
    if (tag.isVoid) this.#to.onclosetag(tag.name, true);
    if (this.#open[this.#open.length - 1]?.name !== tag.name) return;
    this.#to.onclosetag(tag.name, isImplied);
    this.#open.pop();
  }

  /** Reads attributes from after the name; answers where the `>` is, or -1 if there is none. */
  #attributes(from: number, attribs: Record<string, string>): number {
    const text = this.#text;
    const { length } = text;
    let at = from;
    for (;;) {
      let code = text.charCodeAt(at);
      while (isSpace(code)) {
        at += 1;
        code = text.charCodeAt(at);
      }
      if (code === GREATER) return at;
      if (code === SLASH) {
        at += 1;
        while (isSpace(text.charCodeAt(at))) at += 1;
        if (text.charCodeAt(at) === GREATER) {
          this.#isSelfClosing = true;
          return at;
        }
        if (at >= length) {
          // As htmlparser2 has it: the last character is text.
          this.#stop(length - 1);
          return -1;
        }
        continue;
      }
      if (at >= length) break;
      const nameStart = at;
      at += 1;
      while (!endsAttributeName(text.charCodeAt(at))) at += 1;
      if (at >= length) break;
      const name = findAttribute(text.slice(nameStart, at));
      code = text.charCodeAt(at);
      while (isSpace(code)) {
        at += 1;
        code = text.charCodeAt(at);
      }
      if (code !== EQUALS) {
        if (at >= length) break;
        this.#add(attribs, name, '');
        continue;
      }
      at += 1;
      code = text.charCodeAt(at);
      while (isSpace(code)) {
        at += 1;
        code = text.charCodeAt(at);
      }
      if (code === QUOTE || code === APOSTROPHE) {
        const quote = code === QUOTE ? '"' : "'";
        const end = text.indexOf(quote, at + 1);
        if (end < 0) break;
        const value = text.slice(at + 1, end);
        this.#add(attribs, name, this.#hasReference(at + 1, end) ? decodeValue(value, quote) : value);
        at = end + 1;
        continue;
      }
      const valueStart = at;
      while (at < length && code !== GREATER && !isSpace(code)) {
        at += 1;
        code = text.charCodeAt(at);
      }
      if (at >= length) break;
      const value = text.slice(valueStart, at);
      this.#add(attribs, name, this.#hasReference(valueStart, at) ? decodeValue(value, '') : value);
    }
    this.#stop(length);
    return -1;
  }

  #add(attribs: Record<string, string>, name: string, value: string): void {
    this.#to.onattribute();
    if (!Object.hasOwn(attribs, name)) attribs[name] = value;
  }

  #endTag(less: number): void {
    const text = this.#text;
    const { length } = text;
    let start = less + 2;
    while (isSpace(text.charCodeAt(start))) start += 1;
    const code = text.charCodeAt(start);
    if (code === GREATER) {
      // `</>` is text.
      this.#at = start + 1;
      return;
    }
    this.#textUpTo(less);
    if (start >= length) {
      this.#stop(less);
      return;
    }
    if (!isLetter(code)) {
      const end = text.indexOf('>', start + 1);
      if (end < 0) {
        this.#stop(start);
        return;
      }
      this.#to.oncomment(text.slice(start, end));
      this.#goOn(end + 1);
      return;
    }
    let at = start + 1;
    while (at < length && text.charCodeAt(at) !== GREATER && !isSpace(text.charCodeAt(at))) at += 1;
    if (at >= length) {
      this.#stop(length);
      return;
    }
    this.#end(findTag(text.slice(start, at)));
    this.#afterEndTag(at);
  }

  #afterEndTag(at: number): void {
    const end = this.#text.charCodeAt(at) === GREATER ? at : this.#text.indexOf('>', at);
    // As htmlparser2 has it: the last character is text.
    if (end < 0) this.#stop(this.#text.length - 1);
    else this.#goOn(end + 1);
  }

  #end(tag: Tag): void {
    const open = this.#open;
    const { name } = tag;
    if (tag.foreign !== null) this.#foreign.pop();
    if (tag.isVoid) {
      if (name !== 'br') return;
      this.#to.onopentag('br', {});
      this.#to.onclosetag('br', false);
      return;
    }
    let from = open.length - 1;
    while (from >= 0 && open[from]?.name !== name) from -= 1;
    if (from >= 0) {
      while (open.length > from) this.#to.onclosetag(open.pop()?.name ?? '', open.length > from);
    } else if (name === 'p') {
      this.#begin(tag);
      this.#close(tag, {}, false);
    }
  }

  /** The content of a script or the like, and its end tag. */
  #rawText(name: string): void {
    const text = this.#text;
    const start = this.#section;
    let less = text.indexOf('<', start);
    for (; less >= 0; less = text.indexOf('<', less + 1)) {
      const end = less + 2 + name.length;
      const after = text.charCodeAt(end);
      if (after !== GREATER && !isSpace(after)) continue;
      if (text.charCodeAt(less + 1) !== SLASH || text.slice(less + 2, end).toLowerCase() !== name) continue;
      if (name === 'title') this.#textUpTo(less);
      else if (less > start) this.#to.ontext(text.slice(start, less));
      this.#end(findTag(text.slice(less + 2, end)));
      this.#afterEndTag(end);
      return;
    }
    if (name !== 'title' && start < text.length) {
      this.#to.ontext(text.slice(start));
      this.#section = text.length;
    }
    this.#at = text.length;
  }

  /** `start` is after the `<!`. */
  #declaration(start: number): void {
    const text = this.#text;
    const code = text.charCodeAt(start);
    if (code === DASH && text.charCodeAt(start + 1) === DASH) {
      this.#comment(start + 2);
      return;
    }
    let from = start + 1;
    if (code === BRACKET) {
      const begin = 'CDATA[';
      let matched = 0;
      while (matched < begin.length && text.charCodeAt(from + matched) === begin.charCodeAt(matched)) matched += 1;
      if (matched === begin.length) {
        this.#data(from + matched);
        return;
      }
      from += matched;
    } else if (code === DASH) from += 1;
    const end = text.indexOf('>', from);
    if (end < 0) {
      this.#stop(start);
      return;
    }
    const value = text.slice(start, end);
    this.#to.onprocessinginstruction(`!${instructionName(value)}`, `!${value}`);
    this.#goOn(end + 1);
  }

  #instruction(start: number): void {
    const end = this.#text.indexOf('>', start);
    if (end < 0) {
      this.#stop(start);
      return;
    }
    const value = this.#text.slice(start, end);
    this.#to.onprocessinginstruction(`?${instructionName(value)}`, `?${value}`);
    this.#goOn(end + 1);
  }

  /** Ends with `-->`; directly after its beginning, `>` and `->` will do. */
  #comment(start: number): void {
    const text = this.#text;
    let at = start;
    while (text.charCodeAt(at) === DASH) at += 1;
    const end = text.charCodeAt(at) === GREATER ? at : text.indexOf('-->', start) + 2;
    if (end < 2) {
      if (start < text.length) this.#to.oncomment(text.slice(start));
      this.#stop(text.length);
      return;
    }
    this.#to.oncomment(text.slice(start, Math.max(start, end - 2)));
    this.#goOn(end + 1);
  }

  /** A section of XML: a comment, in HTML. */
  #data(start: number): void {
    const text = this.#text;
    const found = text.indexOf(']]>', start);
    const end = found < 0 ? text.length : found;
    if (found < 0 && start >= text.length) {
      this.#stop(text.length);
      return;
    }
    this.#to.oncomment(`[CDATA[${text.slice(start, end)}]]`);
    if (found < 0) this.#stop(text.length);
    else this.#goOn(end + 3);
  }
}
