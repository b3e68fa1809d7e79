import type { CheerioAPI } from 'cheerio';
import type { Element } from 'domhandler';

/**
 * The controls of a form, in document order, and which of them are sent: the "successful controls" of the HTML
 * standard. Controls are read from the page once and changed here; the page itself stays unchanged.
 */
export type Control = TextControl | CheckControl | SelectControl | ButtonControl | FileControl;

interface ControlFacts {
  readonly element: Element;
  readonly name: string;
  disabled: boolean;
}

export interface TextControl extends ControlFacts {
  readonly kind: 'text';
  value: string;
}

export interface CheckControl extends ControlFacts {
  readonly kind: 'checkbox' | 'radio';
  readonly value: string;
  checked: boolean;
}

export interface SelectControl extends ControlFacts {
  readonly kind: 'select';
  readonly multiple: boolean;
  readonly options: readonly Option[];
}

interface Option {
  readonly value: string;
  readonly label: string;
  disabled: boolean;
  selected: boolean;
}

/** Sent only if it was pressed, and a plain button not even then. */
export interface ButtonControl extends ControlFacts {
  readonly kind: 'submit' | 'image' | 'button';
  readonly value: string;
  readonly label: string;
}

/** A file that is uploaded. */
export interface ChosenFile {
  readonly name: string;
  readonly contentType: string;
  readonly bytes: Uint8Array;
}

/** Without a file, the field is sent as a browser sends it when none was chosen. */
interface FileControl extends ControlFacts {
  readonly kind: 'file';
  files: readonly ChosenFile[];
}

/** Controls inside the form, and those elsewhere that name it in their `form` attribute. */
export function readControls($: CheerioAPI, form: Element): Control[] {
  const id = form.attribs['id'];
  const controls: Control[] = [];
  for (const element of $('input, select, textarea, button').get()) {
    const owner = element.attribs['form'];
    const isOurs = owner === undefined ? outermostForm(element) === form : id !== undefined && owner === id;
    if (isOurs) controls.push(readControl($, element));
  }
  keepOneRadioEach(controls);
  return controls;
}

/** Browsers ignore a form that begins inside another. */
export function outermostForm(element: Element): Element | null {
  let found: Element | null = element.name === 'form' ? element : null;
  for (const ancestor of ancestorsOf(element)) if (ancestor.name === 'form') found = ancestor;
  return found;
}

function readControl($: CheerioAPI, element: Element): Control {
  const { attribs } = element;
  const facts = { element, name: attribs['name'] ?? '', disabled: isDisabled(element) };
  switch (element.name) {
    case 'select':
      return readSelect($, element, facts);
    case 'textarea':
      // The first line end after the tag is not part of the value.
      return {
        ...facts,
        kind: 'text',
        value: $(element)
          .text()
          .replace(/^\r?\n/, ''),
      };
    case 'button': {
      const type = attribs['type']?.toLowerCase();
      const kind = type === 'button' || type === 'reset' ? 'button' : 'submit';
      return { ...facts, kind, value: attribs['value'] ?? '', label: collapse($(element).text()) };
    }
    default:
      return readInput(attribs, facts);
  }
}

function readInput(attribs: Readonly<Record<string, string>>, facts: ControlFacts): Control {
  const value = attribs['value'];
  const type = attribs['type']?.toLowerCase() ?? 'text';
  switch (type) {
    case 'checkbox':
    case 'radio':
      return { ...facts, kind: type, value: value ?? 'on', checked: attribs['checked'] !== undefined };
    case 'submit':
      return { ...facts, kind: 'submit', value: value ?? 'Submit', label: value ?? 'Submit' };
    case 'image':
      return { ...facts, kind: 'image', value: value ?? '', label: attribs['alt'] ?? value ?? '' };
    case 'button':
    case 'reset':
      return { ...facts, kind: 'button', value: value ?? '', label: value ?? '' };
    case 'file':
      return { ...facts, kind: 'file', files: [] };
    case 'hidden':
      return { ...facts, kind: 'text', value: value ?? '' };
    default:
      return { ...facts, kind: 'text', value: (value ?? '').replaceAll(/[\r\n]/g, '') };
  }
}

function readSelect($: CheerioAPI, element: Element, facts: ControlFacts): SelectControl {
  const multiple = element.attribs['multiple'] !== undefined;
  const options = $(element)
    .find('option')
    .get()
    .map((option): Option => {
      const { attribs } = option;
      const label = collapse($(option).text());
      const group = option.parent?.type === 'tag' && option.parent.name === 'optgroup' ? option.parent : null;
      return {
        value: attribs['value'] ?? label,
        label: attribs['label'] ?? label,
        disabled: attribs['disabled'] !== undefined || group?.attribs['disabled'] !== undefined,
        selected: attribs['selected'] !== undefined,
      };
    });
  if (!multiple) keepOneOption(options, Number(element.attribs['size'] ?? 1) <= 1);
  return { ...facts, kind: 'select', multiple, options };
}

/** The last option marked as selected counts; if none is, a drop-down shows its first. */
function keepOneOption(options: readonly Option[], isDropDown: boolean): void {
  const chosen = options.findLast(({ selected }) => selected);
  for (const option of options) option.selected = option === chosen;
  const first = isDropDown && chosen === undefined ? options.find(({ disabled }) => !disabled) : undefined;
  if (first !== undefined) first.selected = true;
}

function keepOneRadioEach(controls: readonly Control[]): void {
  const seen = new Set<string>();
  for (const control of controls.toReversed()) {
    if (control.kind !== 'radio' || !control.checked || control.name === '') continue;
    control.checked = !seen.has(control.name);
    seen.add(control.name);
  }
}

/** Disabled by its own attribute or by a fieldset around it; controls in the fieldset's legend stay enabled. */
function isDisabled(element: Element): boolean {
  if (element.attribs['disabled'] !== undefined) return true;
  let below = element;
  for (const ancestor of ancestorsOf(element)) {
    if (ancestor.name === 'fieldset' && ancestor.attribs['disabled'] !== undefined && below.name !== 'legend')
      return true;
    below = ancestor;
  }
  return false;
}

function* ancestorsOf(element: Element): Generator<Element> {
  for (let node = element.parent; node !== null; node = node.parent) if (node.type === 'tag') yield node;
}

function collapse(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim();
}
