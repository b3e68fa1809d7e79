import { type ChildNode, Comment, Document, Element, type ParentNode, ProcessingInstruction, Text } from 'domhandler';
import { fail } from '../scrape-failure.ts';
import type { PageHandler } from './html-parser.ts';
import { decodeText } from './html-references.ts';

/** A parsed page, with what is needed of it again and again. */
export class PageDocument extends Document {
  /** The first element of each id: county pages give nearly every value one. */
  readonly byId = new Map<string, Element>();
  /** The base of the page's links, if it names one. */
  baseHref: string | null = null;

  constructor() {
    super([]);
  }
}

export interface PageLimits {
  /** Elements, texts and comments. */
  readonly maxNodes: number;
  /** Attributes, and pieces that texts are assembled from. They are small, but a page may have millions. */
  readonly maxDetails: number;
  readonly maxDepth: number;
}

/** These end an implied `<tbody>`. */
const SECTIONS = new Set(['tbody', 'thead', 'tfoot', 'caption', 'colgroup', 'col']);
/** These do not begin an implied `<body>`. */
const BEFORE_BODY = new Set([
  ...['head', 'body', 'frameset'],
  ...['title', 'meta', 'link', 'script', 'style', 'base', 'noscript', 'template'],
]);

/** The parser keeps a list of unclosed ones, and moves all of it for each further one. */
const FOREIGN = new Set(['svg', 'math', 'mi', 'mo', 'mn', 'ms', 'mtext', 'annotation-xml', 'foreignobject', 'desc']);
const MAX_UNCLOSED_FOREIGN = 1000;

/**
 * Builds a document from what the parser finds, in one pass: `<html>`, `<body>` and `<tbody>` are inserted where a
 * browser inserts them, ids are indexed, and a page beyond the limits is abandoned at once. Nodes cost memory, not
 * bytes: a page of 32 MiB may have ten million of them.
 */
export class DocumentBuilder implements PageHandler {
  readonly document = new PageDocument();
  readonly #limits: PageLimits;
  readonly #open: ParentNode[] = [this.document];
  /** The implied ones of `#open`, which the parser will not close. */
  readonly #implied: ParentNode[] = [];
  #parent: ParentNode = this.document;
  /** What the next piece of text belongs to. */
  #text: Text | null = null;
  #nodes = 0;
  #details = 0;
  #unclosedForeign = 0;

  constructor(limits: PageLimits) {
    this.#limits = limits;
  }

  onattribute(): void {
    this.#countDetail();
  }

  onopentag(name: string, attribs: Record<string, string>): void {
    this.#makeRoom(name);
    const element = new Element(name, attribs);
    this.#push(element);
    const id = attribs['id'];
    if (id !== undefined && !this.document.byId.has(id)) this.document.byId.set(id, element);
    if (name === 'base') this.document.baseHref ??= attribs['href'] ?? null;
  }

  onclosetag(name: string, isImplied: boolean): void {
    this.#closeImplied();
    if (name === 'textarea') decodeContent(this.#parent);
    this.#pop();
    if (!isImplied || !FOREIGN.has(name)) return;
    this.#unclosedForeign += 1;
    if (this.#unclosedForeign > MAX_UNCLOSED_FOREIGN) {
      fail('too_large', `the page leaves more than ${MAX_UNCLOSED_FOREIGN} drawings or formulas open`);
    }
  }

  ontext(data: string): void {
    if (this.#text === null) {
      if (this.#open.length <= 2 && data.trim() !== '') this.#makeRoom('');
      const text = new Text(data);
      this.#add(text);
      this.#text = text;
    } else {
      this.#text.data += data;
      this.#countDetail();
    }
  }

  oncomment(data: string): void {
    this.#add(new Comment(data));
  }

  onprocessinginstruction(name: string, data: string): void {
    this.#add(new ProcessingInstruction(name, data));
  }

  /** Opens what a browser would open first, and closes what it would close. */
  #makeRoom(name: string): void {
    if (name === 'body') this.#closeImplied('body');
    else if (SECTIONS.has(name)) this.#closeImplied('tbody');
    if (this.#parent === this.document && name !== 'html') this.#imply('html');
    const parent = nameOf(this.#parent);
    if (parent === 'html' && !BEFORE_BODY.has(name)) this.#imply('body');
    else if (parent === 'table' && name === 'tr') this.#imply('tbody');
  }

  #imply(name: 'html' | 'body' | 'tbody'): void {
    // Content after the end of the page still belongs to it.
    const last = name === 'tbody' ? undefined : this.#parent.children.findLast((child) => nameOf(child) === name);
    if (last instanceof Element) this.#enter(last);
    else this.#push(new Element(name, {}));
    this.#implied.push(this.#parent);
  }

  #closeImplied(name: string | null = null): void {
    while (this.#implied.length > 0 && this.#implied.at(-1) === this.#parent) {
      if (name !== null && nameOf(this.#parent) !== name) return;
      this.#implied.pop();
      this.#pop();
    }
  }

  #push(element: Element): void {
    this.#add(element);
    this.#enter(element);
    // The document itself is open too.
    if (this.#open.length - 1 > this.#limits.maxDepth) {
      fail('too_large', `the page nests elements deeper than ${this.#limits.maxDepth} levels`);
    }
  }

  #enter(element: Element): void {
    this.#open.push(element);
    this.#parent = element;
  }

  #pop(): void {
    this.#open.pop();
    this.#parent = this.#open.at(-1) ?? this.document;
    this.#text = null;
  }

  #add(node: ChildNode): void {
    this.#nodes += 1;
    if (this.#nodes > this.#limits.maxNodes) {
      fail('too_large', `the page has more than ${this.#limits.maxNodes} elements and texts`);
    }
    const parent = this.#parent;
    const { children } = parent;
    const previous = children[children.length - 1];
    node.parent = parent;
    this.#text = null;
    if (previous === undefined) {
      // Most elements have one child. An array that grows keeps room for sixteen more.
      parent.children = [node];
    } else {
      node.prev = previous;
      previous.next = node;
      children.push(node);
    }
  }

  #countDetail(): void {
    this.#details += 1;
    if (this.#details > this.#limits.maxDetails) {
      fail('too_large', `the page has more than ${this.#limits.maxDetails} attributes and pieces of text`);
    }
  }
}

function nameOf(node: ParentNode | ChildNode): string {
  return node instanceof Element ? node.name : '';
}

/** The parser decodes `&amp;` everywhere but here; a form would send it back in encoded form. */
function decodeContent(textarea: ParentNode): void {
  const text = textarea.children[0];
  if (text instanceof Text && text.data.includes('&')) text.data = decodeText(text.data, true);
}
