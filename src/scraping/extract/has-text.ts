import { type Element, isTag, isText, type ParentNode } from 'domhandler';

const UNSEEN = new Set(['script', 'style', 'noscript']);

/** `:has-text("…")` as Playwright has it: anywhere in the element, whatever the case and the white space. */
export function hasText(element: Element, value: string | null | undefined): boolean {
  const wanted = plain((value ?? '').trim().replace(/^(["'])(.*)\1$/s, '$2'));
  return plain(textIn(element)).includes(wanted);
}

function plain(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim().toLowerCase();
}

function textIn(node: ParentNode): string {
  let text = '';
  for (const child of node.children) {
    if (isText(child)) text += child.data;
    else if (isTag(child) && !UNSEEN.has(child.name)) text += textIn(child);
  }
  return text;
}
