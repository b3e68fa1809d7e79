import MarkdownIt from 'markdown-it';
import { type DefaultTreeAdapterMap, parse, defaultTreeAdapter as tree } from 'parse5';

type Node = DefaultTreeAdapterMap['childNode'];
type ParentNode = DefaultTreeAdapterMap['parentNode'];
export type ParsedElement = DefaultTreeAdapterMap['element'];

/**
 * Reads a page, and Markdown, by other parsers than the ones that convert it: parse5 and markdown-it. Text of a page is
 * what is in its elements, whatever they are called; only what no browser shows is left out.
 */
const UNSEEN = new Set(['script', 'style', 'template', 'noscript', 'head', 'title', 'iframe']);
/** Their text is never one word with that beside it. */
const APART = new Set([
  ...[
    'p',
    'div',
    'br',
    'li',
    'td',
    'th',
    'tr',
    'pre',
    'dt',
    'dd',
    'h1',
    'h2',
    'h3',
    'h4',
    'h5',
    'h6',
    'table',
    'section',
  ],
  ...[
    'ul',
    'ol',
    'dl',
    'blockquote',
    'hr',
    'body',
    'aside',
    'article',
    'figcaption',
    'caption',
    'summary',
    'details',
    'main',
  ],
  ...['header', 'footer', 'nav', 'img', 'button', 'option', 'label'],
]);
/** A word; in scripts that put no spaces between words, a character. */
const WORD = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]|[\p{L}\p{N}\p{M}]+/gu;
const WIDTHLESS = /[\u00ad\u200b\u2060\ufeff]/g;

const renderer = new MarkdownIt({ html: true });

export interface ReadPage {
  readonly words: readonly string[];
  /** The text of each `<pre>`, without the line end at its own end: a fence adds one anyway. */
  readonly codes: readonly string[];
}

/** The words and the code of an element of a page, or of the whole page if there is no such element. */
export function readHtml(
  html: string,
  isContent: (element: ParsedElement) => boolean,
  isOutside: (element: ParsedElement) => boolean,
): ReadPage {
  const document = parse(html);
  return read(find(document, isContent) ?? document, isOutside);
}

/** What a reader of the Markdown gets to see. */
export function readMarkdown(markdown: string): ReadPage {
  const nothing = () => false;
  return read(parse(renderMarkdown(markdown)), nothing);
}

export function renderMarkdown(markdown: string): string {
  return renderer.render(markdown);
}

function read(root: ParentNode, isOutside: (element: ParsedElement) => boolean): ReadPage {
  const parts: string[] = [];
  const codes: string[] = [];
  gather(root, isOutside, parts, codes);
  return { words: parts.join('').replace(WIDTHLESS, '').toLowerCase().match(WORD) ?? [], codes };
}

function gather(
  parent: ParentNode,
  isOutside: (element: ParsedElement) => boolean,
  parts: string[],
  codes: string[],
): void {
  for (const node of parent.childNodes) {
    if (tree.isTextNode(node)) parts.push(node.value);
    if (!tree.isElementNode(node) || UNSEEN.has(node.tagName) || isOutside(node)) continue;
    const edge = APART.has(node.tagName) ? '\n' : '';
    parts.push(edge);
    gather(node, isOutside, parts, codes);
    if (node.tagName === 'pre') codes.push(readCode(node).replace(/\n$/, ''));
    parts.push(edge);
  }
}

function readCode(pre: ParentNode): string {
  return pre.childNodes
    .map((node) => {
      if (tree.isTextNode(node)) return node.value;
      if (!tree.isElementNode(node)) return '';
      return node.tagName === 'br' ? '\n' : readCode(node);
    })
    .join('');
}

function find(parent: ParentNode, isContent: (element: ParsedElement) => boolean): ParsedElement | null {
  for (const node of parent.childNodes as Node[]) {
    if (!tree.isElementNode(node)) continue;
    if (isContent(node)) return node;
    const inner = find(node, isContent);
    if (inner !== null) return inner;
  }
  return null;
}

/** How many of `wanted` are in `given`, each as often as it is there. */
export function countFound(wanted: readonly string[], given: readonly string[]): number {
  const left = new Map<string, number>();
  for (const word of given) left.set(word, (left.get(word) ?? 0) + 1);
  let found = 0;
  for (const word of wanted) {
    const count = left.get(word) ?? 0;
    if (count === 0) continue;
    left.set(word, count - 1);
    found += 1;
  }
  return found;
}
