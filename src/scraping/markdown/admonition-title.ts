import { type Element, isTag } from 'domhandler';
import { isAdmonitionTitle } from './admonition.ts';
import type { ClassBook } from './class-hints.ts';

const HEADING = /^(?:h[1-6]|summary)$/;

/** The title that an admonition begins with, if it is marked as one, or is a heading of the class `title`. */
export function findAdmonitionTitle(admonition: Element, classes: ClassBook, depth = 0): Element | null {
  const first = admonition.children.find((child) => isTag(child) && child.name !== 'svg');
  if (first === undefined || !isTag(first)) return null;
  const { names } = classes.read(first.attribs['class']);
  if (isAdmonitionTitle(names) || HEADING.test(first.name) || names.includes('title')) return first;
  // In Asciidoc's it is in the first cell of a table, in others in its own box.
  return depth < 4 ? findAdmonitionTitle(first, classes, depth + 1) : null;
}

/** What is left out when the title is written: a cell that contains nothing else goes with it. */
export function titlePlace(title: Element): Element {
  const { parent } = title;
  return parent !== null && isTag(parent) && parent.name === 'td' ? parent : title;
}
