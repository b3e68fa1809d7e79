import { isTag, type ParentNode } from 'domhandler';
import type { PageLimits } from '../extract/page-document.ts';
import { parseHtml } from '../extract/parse-html.ts';
import { PageAddresses } from './page-addresses.ts';

/** The same of a page that is not parsed yet; `url` is where it came from. */
export function linksIn(html: string, url: string, limits: PageLimits): string[] {
  const document = parseHtml(html, limits);
  return readLinks(document, new PageAddresses(document, url));
}

/** Pages that a page links to, in its order. */
export function readLinks(root: ParentNode, addresses: PageAddresses): string[] {
  const links = new Set<string>();
  const hrefs = new Set<string>();
  const read = (node: ParentNode): void => {
    for (const child of node.children) {
      if (!isTag(child)) continue;
      const href = child.name === 'a' || child.name === 'area' ? child.attribs['href'] : undefined;
      if (href !== undefined) hrefs.add(href);
      read(child);
    }
  };
  read(root);
  for (const href of hrefs) {
    const url = href.startsWith('#') ? null : addresses.resolve(href);
    if (url?.startsWith('http')) links.add(url.split('#', 1)[0] ?? url);
  }
  return [...links];
}
