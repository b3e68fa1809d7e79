import { type Element, isTag, isText, type ParentNode } from 'domhandler';
import { findFirst } from '../extract/find.ts';
import type { PageDocument, PageLimits } from '../extract/page-document.ts';
import { parseHtml } from '../extract/parse-html.ts';
import { visibleText } from '../extract/visible-text.ts';
import { type Content, chooseContent } from './choose-content.ts';
import { ClassBook } from './class-hints.ts';
import { Converter } from './converter.ts';
import { writeFrontMatter } from './front-matter.ts';
import type { Heading } from './headings.ts';
import { PageAddresses } from './page-addresses.ts';
import { readLinks } from './page-links.ts';

/**
 * Documentation pages are longer than those of a county: Python's index and changelog have 300,000 nodes each. A page
 * at these limits takes about 200 MB during its conversion.
 */
export const DOCUMENT_LIMITS: PageLimits = { maxNodes: 1_000_000, maxDetails: 2_000_000, maxDepth: 512 };

export interface MarkdownOptions {
  /** Where the page came from: its links become absolute. */
  readonly url: string;
  /**
   * The element to convert, as CSS; `body` for HTML that contains only the content. By default the content is searched
   * for.
   */
  readonly selector?: string;
  /** Begins the Markdown with the page's title and address, as YAML. */
  readonly frontMatter?: boolean;
  /** Writes ` {#id}` after headings that have an id, so that links can lead there. */
  readonly headingIds?: boolean;
}

export interface MarkdownPage {
  /** Empty if the page has no content, or nothing that the selector finds. */
  readonly markdown: string;
  /** The content's main heading, or the title of the page. */
  readonly title: string;
  readonly headings: readonly Heading[];
  /** Every linked page, including those in the navigation: absolute, without fragment, each once. Read on first use. */
  readonly links: readonly string[];
}

/**
 * The content of a page as GitHub's Markdown. Fails with `too_large` for a page beyond the limits, and never otherwise:
 * whatever the HTML is, something is written.
 */
export function toMarkdown(html: string, options: MarkdownOptions): MarkdownPage {
  return convertPage(parseHtml(html, DOCUMENT_LIMITS), options);
}

/** The same for a page that is parsed already. */
function convertPage(document: PageDocument, options: MarkdownOptions): MarkdownPage {
  const classes = new ClassBook();
  const content = findContent(document, options.selector, classes);
  const addresses = new PageAddresses(document, options.url);
  const converter = new Converter(document, addresses, classes, options.headingIds === true);
  if (content !== null) {
    for (const element of content.leftOut) converter.leaveOut(element);
    if (content.title !== null) converter.element(content.title);
    converter.walk(content.root);
  }
  const body = converter.finish();
  const { headings } = converter;
  const title = readTitle(document, headings);
  const markdown = body !== '' && options.frontMatter === true ? writeFrontMatter(title, options.url) + body : body;
  return new ConvertedPage({ markdown, title, headings }, document, addresses);
}

/**
 * A class, because V8 keeps the getter of an object literal in the hidden class that it makes for the literal. That one is
 * old at once, so until the next full collection it held on to the whole document of each page: two thirds of what a
 * conversion allocates survived, and a fifth of its CPU time was spent on copying that.
 */
class ConvertedPage implements MarkdownPage {
  readonly markdown: string;
  readonly title: string;
  readonly headings: readonly Heading[];
  readonly #document: PageDocument;
  readonly #addresses: PageAddresses;
  #links: readonly string[] | null = null;

  constructor(
    { markdown, title, headings }: Omit<MarkdownPage, 'links'>,
    document: PageDocument,
    addresses: PageAddresses,
  ) {
    this.markdown = markdown;
    this.title = title;
    this.headings = headings;
    this.#document = document;
    this.#addresses = addresses;
  }

  get links(): readonly string[] {
    this.#links ??= readLinks(this.#document, this.#addresses);
    return this.#links;
  }
}

function findContent(document: PageDocument, selector: string | undefined, classes: ClassBook): Content | null {
  if (selector === undefined) return chooseContent(document, classes);
  const root = findFirst(document, null, selector);
  return root === null ? null : { root, title: null, leftOut: [] };
}

function readTitle(document: PageDocument, headings: readonly Heading[]): string {
  const heading = headings.find(({ level }) => level === 1);
  if (heading !== undefined) return heading.plain;
  const element = findTitle(document);
  return element === null ? '' : visibleText(element);
}

/** In the head; a `<title>` in a drawing is another. */
function findTitle(node: ParentNode): Element | null {
  for (const child of node.children) {
    if (isText(child) || !isTag(child)) continue;
    if (child.name === 'title') return child;
    const inner = child.name === 'html' || child.name === 'head' ? findTitle(child) : null;
    if (inner !== null) return inner;
  }
  return null;
}
