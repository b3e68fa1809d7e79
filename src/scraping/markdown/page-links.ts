import { isTag, type ParentNode } from 'domhandler';
import type { PageAddresses } from './page-addresses.ts';

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
