import { type Element, isTag, isText, type ParentNode } from 'domhandler';

/** The text of an element as a person sees it, in one line. The element itself counts as visible: it was asked for. */
export function visibleText(node: ParentNode): string {
  const only = node.children.length === 1 ? node.children[0] : undefined;
  if (only && isText(only)) return collapse(only.data);
  const parts: string[] = [];
  gather(node, parts, ' ', false);
  return collapse(parts.join(''));
}

/** The same in lines, as a person sees them begin: at `<br>`, around blocks and rows. None of them is empty. */
export function visibleLines(node: ParentNode): string[] {
  const parts: string[] = [];
  gather(node, parts, LINE_END, isPreformatted(node));
  return parts.join('').split(LINE_END).map(collapse).filter(Boolean);
}

/** A character that HTML cannot contain, so that line ends of the source are not taken for those of the page. */
const LINE_END = '\0';

const UNSEEN = new Set(['script', 'style', 'noscript', 'template', 'title', 'iframe', 'noframes', 'datalist']);

/** These begin and end a line. */
const BLOCKS = new Set([
  ...['address', 'article', 'aside', 'blockquote', 'body', 'caption', 'center', 'dd', 'details', 'dialog', 'div', 'dl'],
  ...['dt', 'fieldset', 'figcaption', 'figure', 'footer', 'form', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'header', 'hr'],
  ...['html', 'legend', 'li', 'main', 'menu', 'nav', 'ol', 'option', 'p', 'pre', 'section', 'summary', 'table'],
  ...['tbody', 'textarea', 'tfoot', 'thead', 'tr', 'ul'],
]);

/** Cells of a row are in one line, but separated. */
const CELLS = new Set(['td', 'th']);

function gather(node: ParentNode, parts: string[], lineEnd: string, keepLines: boolean): void {
  for (const child of node.children) {
    if (isText(child)) parts.push(keepLines ? child.data.replaceAll('\n', lineEnd) : child.data);
    else if (isTag(child)) gatherElement(child, parts, lineEnd, keepLines);
  }
}

function gatherElement(element: Element, parts: string[], lineEnd: string, keepLines: boolean): void {
  if (element.name === 'br') parts.push(lineEnd);
  if (element.name === 'wbr' || element.name === 'br' || isUnseen(element)) return;
  const edge = BLOCKS.has(element.name) ? lineEnd : CELLS.has(element.name) ? ' ' : '';
  parts.push(edge);
  gather(element, parts, lineEnd, keepLines || isPreformatted(element));
  parts.push(edge);
}

/** Only by what the page itself says: style sheets are not read. */
function isUnseen({ name, attribs }: Element): boolean {
  return (
    UNSEEN.has(name) ||
    attribs['hidden'] !== undefined ||
    (attribs['style'] !== undefined && /display\s*:\s*none|visibility\s*:\s*hidden/i.test(attribs['style']))
  );
}

function isPreformatted(node: ParentNode): boolean {
  return 'name' in node && (node.name === 'pre' || node.name === 'textarea');
}

/** `&nbsp;` is white space here; what has no width (soft hyphens, zero-width spaces) is not there at all. */
function collapse(text: string): string {
  return text
    .replace(/[\u00ad\u200b\u2060\ufeff]/g, '')
    .replace(/\s+/g, ' ')
    .trim();
}
