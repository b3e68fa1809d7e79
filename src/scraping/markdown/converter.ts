import { type Element, isTag, isText, type ParentNode } from 'domhandler';
import type { PageDocument } from '../extract/page-document.ts';
import { isDefaultTitle } from './admonition.ts';
import { findAdmonitionTitle, titlePlace } from './admonition-title.ts';
import { BlockWriter } from './block-writer.ts';
import type { ClassBook } from './class-hints.ts';
import { readCode, readCodeLanguage, writeCodeBlock, writeCodeSpan } from './code-block.ts';
import type { Conversion } from './conversion.ts';
import { type ElementKind, KINDS } from './elements.ts';
import { escapeLineStarts, escapeText } from './escape-text.ts';
import { Footnotes } from './footnotes.ts';
import { type Heading, isAnchorSign, readHeadingId, readPlain } from './headings.ts';
import { InlineWriter, type MarkKind } from './inline-writer.ts';
import { isNoiseByAttributes } from './noise.ts';
import { type PageAddresses, writeDestination } from './page-addresses.ts';
import { isLayoutTable, readTable } from './read-table.ts';
import { makeBold, writeDefinitions } from './write-definitions.ts';
import { isTightList, ListSigns, writeList, writeNote } from './write-list.ts';
import { writeTable } from './write-table.ts';

/** In a paragraph. Two spaces would do the same, but editors remove them. */
const LINE_BREAK = '\\\n';

/** Goes through the content of a page once, from the top to the bottom, and writes it as Markdown. */
export class Converter implements Conversion {
  readonly out = new BlockWriter();
  readonly classes: ClassBook;
  readonly notes: Footnotes;
  readonly headings: Heading[] = [];
  readonly #addresses: PageAddresses;
  readonly #headingIds: boolean;
  readonly #signs = new ListSigns();
  /** Navigation, and titles that were already written elsewhere. */
  readonly #leftOut = new Set<Element>();
  #inline = new InlineWriter(LINE_BREAK);
  #isFlat = false;
  #isHeading = false;
  #isTight = false;
  /** The number of blocks when an alert began: the next one follows it directly. */
  #alertAt = -1;

  constructor(document: PageDocument, addresses: PageAddresses, classes: ClassBook, headingIds: boolean) {
    this.classes = classes;
    this.notes = new Footnotes(document, classes);
    this.#addresses = addresses;
    this.#headingIds = headingIds;
  }

  get inline(): InlineWriter {
    return this.#inline;
  }

  get isFlat(): boolean {
    return this.#isFlat;
  }

  leaveOut(element: Element): void {
    this.#leftOut.add(element);
  }

  finish(): string {
    this.edge();
    return this.out.finish();
  }

  walk(node: ParentNode): void {
    for (const child of node.children) {
      if (isText(child)) this.#inline.text(child.data);
      else if (isTag(child)) this.element(child);
    }
  }

  element(element: Element): void {
    const kind = KINDS.get(element.name) ?? 'inline';
    if (kind === 'skip' || this.isLeftOut(element)) return;
    switch (kind) {
      case 'inline':
        this.walk(element);
        break;
      case 'break':
        this.#inline.break();
        break;
      case 'strong':
      case 'em':
      case 'del':
      case 'sub':
      case 'sup':
        this.#marked(element, kind);
        break;
      case 'link':
        this.#link(element);
        break;
      case 'code':
        this.#code(element);
        break;
      case 'image':
        this.#image(element);
        break;
      case 'quotation':
        this.#inline.text('“');
        this.walk(element);
        this.#inline.text('”');
        break;
      case 'math':
        this.#math(element);
        break;
      default:
        this.edge();
        this.#block(element, kind);
        this.edge();
    }
  }

  edge(): void {
    if (this.#isFlat) {
      this.#inline.break();
      return;
    }
    this.#paragraph(this.#inline.take());
  }

  flatten(element: Element, lineBreak: string): string {
    const inline = this.#inline;
    const isFlat = this.#isFlat;
    this.#inline = inline.fork(lineBreak);
    this.#isFlat = true;
    this.walk(element);
    const text = this.#inline.take();
    this.#inline = inline;
    this.#isFlat = isFlat;
    return text;
  }

  isLeftOut(element: Element): boolean {
    const { attribs } = element;
    const className = attribs['class'];
    if (className !== undefined && this.classes.read(className).isNoise) return true;
    return isNoiseByAttributes(element) || (this.#leftOut.size > 0 && this.#leftOut.has(element));
  }

  #block(element: Element, kind: ElementKind): void {
    if (this.#isFlat) {
      this.#flatBlock(element, kind);
      return;
    }
    const label = this.notes.labelOf(element);
    if (label !== null) {
      writeNote(element, label, this);
      return;
    }
    switch (kind) {
      case 'heading':
        this.#heading(element);
        break;
      case 'pre':
        this.#pre(element);
        break;
      case 'list':
        this.#list(element);
        break;
      case 'item':
        this.out.nest('- ', '  ', () => this.#content(element));
        break;
      case 'definitions':
        writeDefinitions(element, this);
        break;
      case 'table':
        this.#table(element);
        break;
      case 'rule':
        // Three hyphens at the start of a file would begin a front matter.
        this.out.write('***');
        break;
      case 'summary':
        this.#paragraph(makeBold(this.flatten(element, ' ')));
        break;
      case 'footer':
        // Left out of a page; in a quotation it names the author.
        if (element.parent !== null && isTag(element.parent) && element.parent.name === 'blockquote')
          this.walk(element);
        return;
      case 'quote':
      case 'block': {
        const { admonition } = this.classes.read(element.attribs['class']);
        if (admonition !== null && element.name !== 'p') {
          this.#admonition(element, admonition);
          return;
        }
        if (kind === 'quote') {
          this.out.nest('> ', '> ', () => this.#content(element));
          return;
        }
        this.walk(element);
        break;
      }
    }
  }

  #content(element: Element): void {
    this.walk(element);
    this.edge();
  }

  #paragraph(text: string): void {
    if (text === '') return;
    // Only a paragraph: a list or a table would become part of the line before it.
    if (this.out.count === this.#alertAt && !this.out.isLeading) this.out.tighten();
    this.out.write(escapeLineStarts(text));
  }

  /** If there is only one line: items keep their sign, lines of code are separate code spans. */
  #flatBlock(element: Element, kind: ElementKind): void {
    if (kind === 'pre') {
      for (const line of readCode(element, this.classes).split('\n')) {
        const code = writeCodeSpan(line);
        if (code !== '') this.#inline.raw(code);
        this.#inline.break();
      }
      return;
    }
    if (kind === 'item') {
      this.#inline.raw('-');
      this.#inline.space();
    }
    if (kind !== 'rule') this.walk(element);
  }

  #heading(element: Element): void {
    const wasHeading = this.#isHeading;
    this.#isHeading = true;
    const text = this.flatten(element, ' ');
    this.#isHeading = wasHeading;
    if (text === '') return;
    const level = Number(element.name[1]);
    const id = readHeadingId(element);
    this.headings.push({ level, text, plain: readPlain(element, (part) => this.isLeftOut(part)), id });
    // Trailing hashes would be taken for the heading's own.
    const safe = text.replace(/#+$/, (hashes) => `\\${hashes}`);
    this.out.write(`${'#'.repeat(level)} ${safe}${this.#headingIds && id !== null ? ` {#${id}}` : ''}`);
  }

  #pre(element: Element): void {
    const code = readCode(element, this.classes);
    if (code.trim() !== '') this.out.write(writeCodeBlock(code, readCodeLanguage(element, this.classes)));
  }

  #list(element: Element): void {
    const isInTight = this.#isTight;
    this.#isTight = isTightList(element);
    writeList(element, this, this.#signs, isInTight);
    this.#isTight = isInTight;
  }

  #table(element: Element): void {
    const parts = readTable(element, (part) => this.isLeftOut(part));
    if (parts.rows.length === 0 || isLayoutTable(element, parts)) {
      this.walk(element);
      return;
    }
    if (parts.caption !== null) this.#paragraph(this.flatten(parts.caption, ' '));
    const table = writeTable(parts.rows, (cell) => this.flatten(cell, '<br>'));
    if (/[^|\s:-]/.test(table)) this.out.write(table);
  }

  #admonition(element: Element, kind: string): void {
    const title = findAdmonitionTitle(element, this.classes);
    const text = title === null ? '' : this.flatten(title, ' ');
    const place = title === null ? null : titlePlace(title);
    if (place !== null) this.#leftOut.add(place);
    const isTight = this.#isTight;
    this.#isTight = false;
    this.out.nest('> ', '> ', () => {
      this.out.write(`[!${kind}]`);
      this.#alertAt = this.out.count;
      if (!isDefaultTitle(kind, text)) this.#paragraph(makeBold(text));
      this.#content(element);
    });
    this.#isTight = isTight;
    this.#alertAt = -1;
    if (place !== null) this.#leftOut.delete(place);
  }

  #marked(element: Element, kind: MarkKind): void {
    this.#inline.open(kind);
    this.walk(element);
    this.#inline.close();
  }

  #link(element: Element): void {
    const { href } = element.attribs;
    if (href === undefined) {
      this.walk(element);
      return;
    }
    // Some generators let headings link back to the table of contents, with the same role.
    if (isAnchorSign(element) || (!this.#isHeading && this.notes.isWayBack(element))) return;
    const label = href.startsWith('#') ? this.notes.refer(element, readCode(element, this.classes)) : null;
    if (label !== null) {
      this.#inline.note(`[^${label}]`);
      return;
    }
    const url = this.#addresses.resolve(href);
    // A heading that is a link to itself is only a heading.
    if (url === null || (this.#isHeading && href.startsWith('#'))) {
      this.walk(element);
      return;
    }
    this.#inline.open('link', writeDestination(url));
    this.walk(element);
    this.#inline.close();
  }

  #code(element: Element): void {
    const inner = element.children.find((child) => isTag(child));
    if (inner?.name === 'pre') {
      this.walk(element);
      return;
    }
    const text = readCode(element, this.classes);
    if (text.trim() === '') return;
    if (/^\s/.test(text)) this.#inline.space();
    const isLink = inner?.name === 'a' && element.children.length === 1;
    const url = isLink ? this.#addresses.resolve(inner.attribs['href']) : null;
    if (url !== null) this.#inline.open('link', writeDestination(url));
    this.#inline.code(text);
    if (url !== null) this.#inline.close();
    if (/\s$/.test(text)) this.#inline.space();
  }

  #image({ attribs }: Element): void {
    const alt = (attribs['alt'] ?? '').replace(/\s+/g, ' ').trim();
    const { names } = this.classes.read(attribs['class']);
    if (names.includes('emoji')) {
      this.#inline.text(alt);
      return;
    }
    if (attribs['width'] === '1' || attribs['role'] === 'presentation' || attribs['aria-hidden'] === 'true') return;
    const url = this.#addresses.resolve(attribs['data-src'] ?? attribs['src']);
    if (url !== null) this.#inline.raw(`![${escapeText(alt, '', true)}](${writeDestination(url)})`);
    else if (alt !== '') this.#inline.text(alt);
  }

  /** A formula that carries its TeX is written as that; any other as its text. */
  #math(element: Element): void {
    const annotation = findAnnotation(element);
    if (annotation === null) {
      this.walk(element);
      return;
    }
    const sign = element.attribs['display'] === 'block' ? '$$' : '$';
    this.#inline.raw(`${sign}${readCode(annotation, this.classes).replace(/\s+/g, ' ').trim()}${sign}`);
  }
}

function findAnnotation(math: ParentNode): Element | null {
  for (const child of math.children) {
    if (!isTag(child)) continue;
    if (child.name === 'annotation') return child.attribs['encoding'] === 'application/x-tex' ? child : null;
    if (child.name === 'semantics') return findAnnotation(child);
  }
  return null;
}
