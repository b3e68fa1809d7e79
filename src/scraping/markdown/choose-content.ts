import { type ChildNode, type Element, isTag, isText, type ParentNode } from 'domhandler';
import type { PageDocument } from '../extract/page-document.ts';
import type { ClassBook } from './class-hints.ts';
import { KINDS } from './elements.ts';
import { isNoiseByAttributes } from './noise.ts';

/** Containers in which documentation generators put their text, if they do not mark it for screen readers. */
const CONTENT_CLASSES = new Set([
  'markdown-body',
  'theme-doc-markdown',
  'vp-doc',
  'md-content',
  'devsite-article-body',
]);
/** Next to the content on many pages; the text of links counts little there. */
const BESIDE = new Set(['aside', 'footer', 'nav', 'header']);
/** The share of an element's text that must be in one child for that child to be the content. */
const SHARE = 0.8;
/** Weight of text in links. An index consists of links, and so does a navigation, but there is more text elsewhere. */
const LINK_WEIGHT = 0.2;

/** A line with a copyright, in characters. */
const SMALL_PRINT = 200;
const LINKS_OF_A_LIST = 3;
const LINKED_SHARE = 0.6;
const HEADING_NAMES = new Set(['h1', 'h2', 'h3', 'pre']);

interface Found {
  main: Element | null;
  readonly articles: Element[];
  known: Element | null;
  title: Element | null;
}

export interface Content {
  readonly root: ParentNode;
  /** Lists of links beside it. */
  readonly leftOut: readonly Element[];
  /** The heading of the page, if it is outside the content. */
  readonly title: Element | null;
}

/**
 * The content that a reader of the page came for. In this order: what the page itself marks as its main part, its only
 * article, the container of a known generator; otherwise the innermost element with nearly all text that is not in
 * links.
 */
export function chooseContent(document: PageDocument, classes: ClassBook): Content {
  const found: Found = { main: null, articles: [], known: null, title: null };
  search(document, found, classes, false);
  const landmark = pickLandmark(found, classes);
  const root = landmark ?? descend(document, classes);
  return {
    root,
    leftOut: landmark === null && isWholePage(root) ? root.children.filter(isLinkList) : [],
    title: found.title !== null && !isInside(found.title, root) ? found.title : null,
  };
}

function pickLandmark({ main, articles, known }: Found, classes: ClassBook): Element | null {
  const only = articles.length === 1 ? (articles[0] ?? null) : null;
  if (main !== null && hasText(main, classes)) {
    // Beside the article there may be a list of its headings.
    const isMost = only !== null && isInside(only, main) && 2 * weigh(only, classes, null) > weigh(main, classes, null);
    return isMost ? only : main;
  }
  return [only, known].find((candidate) => candidate !== null && hasText(candidate, classes)) ?? null;
}

function hasText(node: ParentNode, classes: ClassBook): boolean {
  return node.children.some((child) =>
    isText(child)
      ? child.data.trim() !== ''
      : isTag(child) && KINDS.get(child.name) !== 'skip' && !isNoise(child, classes) && hasText(child, classes),
  );
}

function search(node: ParentNode, found: Found, classes: ClassBook, isBeside: boolean): void {
  for (const child of node.children) {
    if (!isTag(child)) continue;
    const { name, attribs } = child;
    if (name === 'main' || attribs['role'] === 'main') found.main ??= child;
    else if (name === 'article') found.articles.push(child);
    else if (name === 'h1' && !isBeside) found.title ??= child;
    else if (found.known === null && isKnown(child, classes)) found.known = child;
    if (child.children.length > 0 && KINDS.get(name) !== 'skip' && !isNoise(child, classes)) {
      search(child, found, classes, isBeside || BESIDE.has(name));
    }
  }
}

function isKnown({ attribs }: Element, classes: ClassBook): boolean {
  const className = attribs['class'];
  return className !== undefined && classes.read(className).names.some((name) => CONTENT_CLASSES.has(name));
}

/**
 * Descends into the one child that has nearly everything, as long as its siblings are only links, a line of small
 * print, or nothing.
 */
function descend(document: PageDocument, classes: ClassBook): ParentNode {
  const weights = new Map<ParentNode, number>();
  weigh(document, classes, weights);
  let root: ParentNode = document;
  for (;;) {
    const next = findHeavy(root, weights);
    if (next === null || root.children.some((child) => child !== next && isContentLike(child, weights, classes)))
      return root;
    root = next;
  }
}

function findHeavy(root: ParentNode, weights: ReadonlyMap<ParentNode, number>): Element | null {
  const total = weights.get(root) ?? 0;
  const heavy = root.children.find(
    (child) => isTag(child) && isContainer(child) && (weights.get(child) ?? 0) > SHARE * total,
  );
  return heavy !== undefined && isTag(heavy) ? heavy : null;
}

/** Not a paragraph, a list or a table, however long: without its surroundings it is not the page. */
function isContainer({ name }: Element): boolean {
  return KINDS.get(name) === 'block' && name !== 'p' && name !== 'dd' && name !== 'dt';
}

/** Has a heading, code, or some sentences that are not links. */
function isContentLike(node: ChildNode, weights: ReadonlyMap<ParentNode, number>, classes: ClassBook): boolean {
  if (isText(node)) return node.data.trim().length > SMALL_PRINT;
  if (!isTag(node) || BESIDE.has(node.name) || isNoise(node, classes)) return false;
  const weight = weights.get(node) ?? 0;
  return weight > SMALL_PRINT || (weight > 0 && hasHeading(node));
}

function isWholePage(node: ParentNode): boolean {
  return !('name' in node) || node.name === 'html' || node.name === 'body';
}

/** Most of its text is links, and there are several: a navigation, next to text that is not in one element. */
function isLinkList(node: ChildNode): node is Element {
  if (!isTag(node) || !isContainer(node)) return false;
  const { text, linked, links } = measureLinks(node);
  return links >= LINKS_OF_A_LIST && linked > LINKED_SHARE * text && !hasHeading(node);
}

function measureLinks(node: ParentNode): { text: number; linked: number; links: number } {
  const sum = { text: 0, linked: 0, links: 0 };
  for (const child of node.children) {
    if (isText(child)) sum.text += textLength(child.data);
    if (!isTag(child)) continue;
    const { text, linked, links } = measureLinks(child);
    sum.text += text;
    sum.linked += child.name === 'a' ? text : linked;
    sum.links += child.name === 'a' ? 1 : links;
  }
  return sum;
}

function hasHeading(node: ParentNode): boolean {
  return node.children.some((child) => isTag(child) && (HEADING_NAMES.has(child.name) || hasHeading(child)));
}

/** The length of the text, with links counted less. Recorded in `weights`, if given, for every element with text. */
function weigh(node: ParentNode, classes: ClassBook, weights: Map<ParentNode, number> | null): number {
  let sum = 0;
  for (const child of node.children) {
    if (isText(child)) sum += textLength(child.data);
    else if (isTag(child) && KINDS.get(child.name) !== 'skip' && !isNoise(child, classes)) {
      const weight = weigh(child, classes, weights);
      sum += child.name === 'a' || BESIDE.has(child.name) ? weight * LINK_WEIGHT : weight;
    }
  }
  if (sum > 0) weights?.set(node, sum);
  return sum;
}

/** White space between elements is not text. */
function textLength(text: string): number {
  return text.length > 200 ? text.length : text.trim().length;
}

function isNoise(element: Element, classes: ClassBook): boolean {
  const className = element.attribs['class'];
  return (className !== undefined && classes.read(className).isNoise) || isNoiseByAttributes(element);
}

function isInside(element: Element, root: ParentNode): boolean {
  for (let node: ParentNode | null = element; node !== null; node = node.parent) if (node === root) return true;
  return false;
}
