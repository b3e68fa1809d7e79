import { type Element, isTag, type ParentNode } from 'domhandler';
import type { PageDocument } from '../../extract/page-document.ts';
import { visibleText } from '../../extract/visible-text.ts';

/**
 * Roles and names of elements as far as the page's own markup tells them: what a recorder calls `aria/Search` or
 * `getByRole('button', { name: 'Search' })`. A browser computes both from more (style sheets, for instance); for forms, links and
 * tables, which are what is worked without one, the answers are the same.
 */

const BUTTON_TYPES = new Set(['submit', 'button', 'reset', 'image']);

const ROLES: Readonly<Record<string, string>> = {
  ...{ button: 'button', summary: 'button', textarea: 'textbox', option: 'option', img: 'img', table: 'table' },
  ...{ tr: 'row', td: 'cell', th: 'columnheader', li: 'listitem', ul: 'list', ol: 'list', nav: 'navigation' },
  ...{ main: 'main', form: 'form', dialog: 'dialog', article: 'article', p: 'paragraph', fieldset: 'group' },
  ...{ h1: 'heading', h2: 'heading', h3: 'heading', h4: 'heading', h5: 'heading', h6: 'heading' },
};

const INPUT_ROLES: Readonly<Record<string, string>> = {
  ...{ checkbox: 'checkbox', radio: 'radio', number: 'spinbutton', range: 'slider', search: 'searchbox' },
  ...{ text: 'textbox', email: 'textbox', tel: 'textbox', url: 'textbox' },
};

/** Roles whose name is the text inside. */
const NAMED_BY_CONTENT = new Set([
  ...['button', 'link', 'heading', 'cell', 'columnheader', 'rowheader', 'option', 'tab', 'menuitem', 'row', 'switch'],
  ...['checkbox', 'radio', 'tooltip', 'treeitem'],
]);

export function roleOf({ name, attribs }: Element): string | null {
  const [own = ''] = (attribs['role'] ?? '').trim().toLowerCase().split(/\s+/);
  if (own !== '') return own;
  if (name === 'a' || name === 'area') return attribs['href'] === undefined ? null : 'link';
  if (name === 'select')
    return attribs['multiple'] !== undefined || Number(attribs['size'] ?? 1) > 1 ? 'listbox' : 'combobox';
  if (name !== 'input') return Object.hasOwn(ROLES, name) ? (ROLES[name] ?? null) : null;
  const type = inputType(attribs);
  if (BUTTON_TYPES.has(type)) return 'button';
  return Object.hasOwn(INPUT_ROLES, type) ? (INPUT_ROLES[type] ?? null) : null;
}

export function accessibleName(page: PageDocument, element: Element): string {
  const { attribs } = element;
  const labelledBy = (attribs['aria-labelledby'] ?? '').split(/\s+/).filter(Boolean);
  const byOthers = labelledBy.map((id) => page.byId.get(id)).filter((each) => each !== undefined);
  if (byOthers.length > 0) return byOthers.map(visibleText).join(' ');
  const own = attribs['aria-label']?.trim();
  if (own) return own;
  return nativeName(page, element) || (attribs['title']?.trim() ?? '') || (attribs['placeholder']?.trim() ?? '');
}

function nativeName(page: PageDocument, element: Element): string {
  const { name, attribs } = element;
  if (name === 'img' || name === 'area') return attribs['alt']?.trim() ?? '';
  const isControl = name === 'input' || name === 'select' || name === 'textarea';
  if (isControl) {
    const labels = labelsOf(page, element).map((label) => labelText(label, element));
    if (labels.length > 0) return labels.join(' ').trim();
    if (name !== 'input') return '';
    const type = inputType(attribs);
    if (type === 'image') return attribs['alt']?.trim() ?? '';
    if (!BUTTON_TYPES.has(type)) return '';
    return (attribs['value'] ?? { submit: 'Submit', reset: 'Reset' }[type] ?? '').trim();
  }
  const role = roleOf(element);
  return role !== null && NAMED_BY_CONTENT.has(role) ? contentName(element) : '';
}

/** Text inside, with pictures by their descriptions. */
function contentName(element: Element): string {
  const text = visibleText(element);
  if (text !== '') return text;
  const picture = firstBelow(element, ({ name, attribs }) => name === 'img' && Boolean(attribs['alt']?.trim()));
  return picture?.attribs['alt']?.trim() ?? '';
}

/** `<label for>` and labels around the control. */
export function labelsOf(page: PageDocument, control: Element): Element[] {
  const { id } = control.attribs;
  const labels = id === undefined || id === '' ? [] : (labelIndex(page).get(id) ?? []);
  for (let node = control.parent; node !== null; node = node.parent) {
    if (isTag(node) && node.name === 'label' && node.attribs['for'] === undefined) return [...labels, node];
  }
  return labels;
}

const INDEXES = new WeakMap<PageDocument, ReadonlyMap<string, Element[]>>();

function labelIndex(page: PageDocument): ReadonlyMap<string, Element[]> {
  const known = INDEXES.get(page);
  if (known !== undefined) return known;
  const index = new Map<string, Element[]>();
  for (const element of elementsBelow(page)) {
    const target = element.name === 'label' ? element.attribs['for'] : undefined;
    if (target === undefined) continue;
    const labels = index.get(target) ?? [];
    labels.push(element);
    index.set(target, labels);
  }
  INDEXES.set(page, index);
  return index;
}

/** Without the texts of a drop-down inside it. */
function labelText(label: Element, control: Element): string {
  const text = visibleText(label);
  if (control.name !== 'select') return text;
  const choices = visibleText(control);
  return choices === '' ? text : text.replace(choices, '').trim();
}

export function* elementsBelow(node: ParentNode): Generator<Element> {
  for (const child of node.children) {
    if (!isTag(child)) continue;
    yield child;
    yield* elementsBelow(child);
  }
}

function firstBelow(node: ParentNode, is: (element: Element) => boolean): Element | null {
  for (const element of elementsBelow(node)) if (is(element)) return element;
  return null;
}

export function inputType(attribs: Readonly<Record<string, string>>): string {
  return attribs['type']?.trim().toLowerCase() || 'text';
}
