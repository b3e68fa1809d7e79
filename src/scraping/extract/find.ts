import { select } from 'cheerio-select';
import { type Element, isTag, type ParentNode } from 'domhandler';
import { hasText } from './has-text.ts';
import type { PageDocument } from './page-document.ts';

const PSEUDOS = { 'has-text': hasText };

/** `#id` and nothing else. What CSS writes with escapes is left to the library. */
const ID = /^#([A-Za-z_][\w-]*)$/;

/**
 * The first match below `root`, in document order; null if there is none. Values are mostly read by id, each once: an
 * id is looked up, and any other search stops at the first match. Cheerio's own `find` would walk the whole page every
 * time, which after some ten fields costs as much as parsing it.
 */
export function findFirst(page: PageDocument, root: Element | null, selector: string): Element | null {
  const id = ID.exec(selector)?.[1];
  const known = id === undefined ? undefined : page.byId.get(id);
  if (known !== undefined && isBelow(known, root ?? page)) return known;
  return search(page, root ?? page, selector, 1)[0] ?? null;
}

/** Every match below `root`, in the page's order. */
export function findAll(page: PageDocument, root: Element | null, selector: string): Element[] {
  return search(page, root ?? page, selector, Number.POSITIVE_INFINITY);
}

function search(page: PageDocument, root: ParentNode, selector: string, limit: number): Element[] {
  try {
    if (selector.trim() === '') throw new Error('it is empty');
    // The root itself, and not its children: of a list, the library compares each with all others.
    return select(selector, root, { context: [root], root: page, pseudos: PSEUDOS }, limit).filter(isTag);
  } catch (error) {
    // A bug of the scraper, which no retry and no change of the page will fix.
    throw new Error(`${JSON.stringify(selector)} is not a selector`, { cause: error });
  }
}

function isBelow(element: Element, root: ParentNode): boolean {
  for (let node = element.parent; node !== null; node = node.parent) if (node === root) return true;
  return false;
}
