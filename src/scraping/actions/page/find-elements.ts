import { Element } from 'domhandler';
import type { SelectorPart } from '../../../domain/recording/selector.ts';
import { findAll } from '../../extract/find.ts';
import type { PageDocument } from '../../extract/page-document.ts';
import { visibleText } from '../../extract/visible-text.ts';
import { accessibleName, elementsBelow, inputType, labelsOf, roleOf } from './accessible.ts';
import { findByXPath } from './find-by-xpath.ts';

/** Where to look: a whole page, or an element of it. */
export interface Place {
  readonly page: PageDocument;
  readonly root: Element | null;
}

/** What one alternative of a selector matches, in the page's order: each part is looked for below the matches of the one before. */
export function findElements(place: Place, parts: readonly SelectorPart[]): Element[] {
  let found: readonly (Element | null)[] = [place.root];
  for (const part of parts) {
    found = [...new Set(found.flatMap((root) => findPart({ page: place.page, root }, part)))];
  }
  return found.filter((element) => element !== null);
}

function findPart(place: Place, part: SelectorPart): Element[] {
  const { page, root } = place;
  switch (part.kind) {
    case 'css':
    case 'pierce':
      return findAll(page, root, part.value);
    case 'xpath':
      return findByXPath(root ?? page, relativeTo(root, part.value));
    case 'testid':
      return below(place).filter(({ attribs }) => attribs['data-testid'] === part.value);
    case 'text':
      return withText(place, part.value);
    case 'label':
      return withLabel(place, part.value);
    case 'aria':
      return named(place, part.name, (element) => part.role === null || roleOf(element) === part.role);
    case 'role':
      return part.name === null
        ? below(place).filter((element) => roleOf(element) === part.role)
        : named(place, part.name, (element) => roleOf(element) === part.role);
  }
}

/** Inside an element, `//a` means below it, as in a browser's `within`. */
function relativeTo(root: Element | null, path: string): string {
  return root !== null && path.startsWith('/') ? `.${path}` : path;
}

function below({ page, root }: Place): Element[] {
  return [...elementsBelow(root ?? page)];
}

/** Those with exactly this text, if there are any, and otherwise those that contain it; of nested ones the innermost. */
function withText(place: Place, text: string): Element[] {
  const wanted = fold(text);
  const seen = new Map<Element, string>();
  for (const element of below(place)) if (!UNREAD.has(element.name)) seen.set(element, fold(ownText(element)));
  const matching = (matches: (seen: string) => boolean) => {
    const all = new Set([...seen].filter(([, each]) => matches(each)).map(([element]) => element));
    return [...all].filter((element) => !element.children.some((child) => child instanceof Element && all.has(child)));
  };
  return preferExact(matching, wanted);
}

const UNREAD = new Set(['html', 'head', 'script', 'style', 'title', 'noscript', 'template']);

/** Buttons that are inputs say what their value is. */
function ownText(element: Element): string {
  const isButton = element.name === 'input' && ['submit', 'button', 'reset'].includes(inputType(element.attribs));
  return isButton ? (element.attribs['value'] ?? '') : visibleText(element);
}

const CONTROLS = new Set(['input', 'select', 'textarea', 'button', 'meter', 'output', 'progress']);

function withLabel(place: Place, label: string): Element[] {
  const controls = below(place).filter(({ name, attribs }) => CONTROLS.has(name) || attribs['role'] !== undefined);
  const texts = new Map(controls.map((control) => [control, labelsFor(place.page, control)]));
  const matching = (matches: (seen: string) => boolean) =>
    controls.filter((control) => texts.get(control)?.some((text) => matches(fold(text))) === true);
  return preferExact(matching, fold(label));
}

function labelsFor(page: PageDocument, control: Element): string[] {
  const { 'aria-label': own, 'aria-labelledby': by } = control.attribs;
  const texts = labelsOf(page, control).map(visibleText);
  if (own !== undefined) texts.push(own);
  if (by !== undefined) texts.push(accessibleName(page, control));
  return texts;
}

function named(place: Place, name: string, fits: (element: Element) => boolean): Element[] {
  const names = new Map<Element, string>();
  for (const element of below(place)) {
    if (fits(element) && !isHiddenInput(element)) names.set(element, fold(accessibleName(place.page, element)));
  }
  const matching = (matches: (seen: string) => boolean) =>
    [...names].filter(([, seen]) => matches(seen)).map(([element]) => element);
  return preferExact(matching, fold(name));
}

/** Recorders write whole names; some write the beginning of one. A whole one counts first, so that "1" is not found in "10". */
function preferExact(matching: (matches: (seen: string) => boolean) => Element[], wanted: string): Element[] {
  const exact = matching((seen) => seen === wanted);
  return exact.length > 0 ? exact : matching((seen) => seen.includes(wanted));
}

/** Whether a person may see it, by what the page's own markup says: style sheets are not read. */
export function isSeen(element: Element): boolean {
  if (isHiddenInput(element)) return false;
  for (let node: Element['parent'] | Element = element; node !== null; node = node.parent) {
    if (!(node instanceof Element)) continue;
    const { hidden, style = '' } = node.attribs;
    if (hidden !== undefined || /display\s*:\s*none|visibility\s*:\s*hidden/i.test(style)) return false;
    if (UNREAD.has(node.name) && node.name !== 'html') return false;
  }
  return true;
}

function isHiddenInput({ name, attribs }: Element): boolean {
  return name === 'input' && inputType(attribs) === 'hidden';
}

function fold(text: string): string {
  return text.replace(/\s+/g, ' ').trim().toLowerCase();
}
