import { type Element, isTag, isText, type ParentNode } from 'domhandler';

export interface Heading {
  /** 1 to 6. */
  readonly level: number;
  /** As Markdown, in one line. */
  readonly text: string;
  /** The same without any signs. */
  readonly plain: string;
  /** The fragment of a link to it, without the `#`; null if it has none. */
  readonly id: string | null;
}

/** Signs that headings are linked by, with which no heading begins or ends otherwise. */
const ANCHOR_SIGNS = new Set(['¶', '#', '§', '🔗', '⚓', '∞', 'permalink', '']);

/** The sign beside a heading that links to it. */
export function isAnchorSign(link: Element): boolean {
  if (!link.attribs['href']?.includes('#') || link.children.length > 1) return false;
  const only = link.children[0];
  if (only === undefined) return true;
  return isText(only) && ANCHOR_SIGNS.has(only.data.replace(/[\s\u200b]+/g, '').toLowerCase());
}

/** On the heading, in it, or on the section that it begins: generators differ. */
export function readHeadingId(heading: Element): string | null {
  const own = heading.attribs['id'];
  if (own) return own;
  for (const child of heading.children) {
    if (!isTag(child)) continue;
    const inner = child.attribs['id'] ?? (child.name === 'a' ? child.attribs['name'] : undefined);
    if (inner) return inner;
  }
  const { parent } = heading;
  if (parent === null || !isTag(parent) || (parent.name !== 'section' && parent.name !== 'div')) return null;
  const first = parent.children.find((child) => isTag(child) && (child.name !== 'span' || child.children.length > 0));
  return first === heading ? (parent.attribs['id'] ?? null) : null;
}

/** The text of a heading, without the sign beside it. */
export function readPlain(heading: Element, isLeftOut: (element: Element) => boolean): string {
  const parts: string[] = [];
  const gather = (node: ParentNode): void => {
    for (const child of node.children) {
      if (isText(child)) parts.push(child.data);
      else if (isTag(child) && !isLeftOut(child) && !(child.name === 'a' && isAnchorSign(child))) {
        if (child.name === 'br') parts.push(' ');
        gather(child);
      }
    }
  };
  gather(heading);
  return parts
    .join('')
    .replace(/[\u00ad\u200b\u2060\ufeff\0]/g, '')
    .replace(/\s+/g, ' ')
    .trim();
}
