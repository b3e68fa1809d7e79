import { type Element, isTag, isText } from 'domhandler';
import type { Conversion } from './conversion.ts';

/** An item with more than one of these blocks needs empty lines. */
const SPACED = new Set(['p', 'pre', 'blockquote', 'table', 'div', 'dl', 'details', 'figure']);
const MAX_NUMBER = 999_999_999;

/** Separates adjacent lists: with the same sign they would be one. */
export class ListSigns {
  #lastCount = -1;
  #isOther = false;

  begin(count: number): boolean {
    this.#isOther = count === this.#lastCount && !this.#isOther;
    return this.#isOther;
  }

  end(count: number): void {
    this.#lastCount = count;
  }
}

export function writeList(list: Element, conversion: Conversion, signs: ListSigns, isInTight: boolean): void {
  const { out } = conversion;
  const isTight = isTightList(list);
  const isOther = signs.begin(out.count);
  let number = readNumber(list.attribs['start'], 1);
  // After a paragraph, a number other than 1 begins a list only below an empty line.
  if (isInTight && !out.isLeading && (list.name !== 'ol' || number === 1)) out.tighten();
  let hasItems = false;
  for (const child of list.children) {
    if (isText(child)) {
      conversion.inline.text(child.data);
      continue;
    }
    if (!isTag(child) || conversion.isLeftOut(child)) continue;
    conversion.edge();
    if (hasItems && isTight) out.tighten();
    if (child.name === 'li') {
      number = readNumber(child.attribs['value'], number);
      const label = conversion.notes.labelOf(child);
      if (label !== null) writeNote(child, label, conversion);
      else
        writeItem(child, list.name === 'ol' ? `${number}${isOther ? ')' : '.'} ` : isOther ? '* ' : '- ', conversion);
      number += 1;
      hasItems = true;
    } else {
      // Some pages have a list directly in a list, outside any item.
      out.nest('  ', '  ', () => {
        conversion.element(child);
        conversion.edge();
      });
    }
  }
  conversion.edge();
  out.loosen();
  signs.end(out.count);
}

function writeItem(item: Element, lead: string, conversion: Conversion): void {
  conversion.out.nest(lead, ' '.repeat(lead.length), () => {
    const box = findCheckbox(item);
    if (box !== null) {
      conversion.inline.raw(box.attribs['checked'] === undefined ? '[ ]' : '[x]');
      conversion.inline.space();
    }
    conversion.walk(item);
    conversion.edge();
  });
}

/** A footnote's text, after the label by which it is referred to. */
export function writeNote(note: Element, label: string, conversion: Conversion): void {
  conversion.edge();
  conversion.out.nest(`[^${label}]: `, '    ', () => {
    for (const child of note.children) {
      if (isText(child)) conversion.inline.text(child.data);
      else if (isTag(child) && !isLabel(child, conversion)) conversion.element(child);
    }
    conversion.edge();
  });
}

/** The number before a note of Sphinx, with its brackets. */
function isLabel({ attribs }: Element, { classes }: Conversion): boolean {
  return classes.read(attribs['class']).names.includes('label');
}

/** An item with a single paragraph needs no empty line around it, although generators put each into a `<p>`. */
export function isTightList(list: Element): boolean {
  return list.children.every(
    (item) => !isTag(item) || item.children.filter((child) => isTag(child) && SPACED.has(child.name)).length <= 1,
  );
}

function findCheckbox(item: Element): Element | null {
  let first = item.children.find((child) => !isText(child) || child.data.trim() !== '');
  if (first !== undefined && isTag(first) && (first.name === 'p' || first.name === 'label')) first = first.children[0];
  if (first === undefined || !isTag(first) || first.name !== 'input') return null;
  return first.attribs['type'] === 'checkbox' ? first : null;
}

function readNumber(text: string | undefined, otherwise: number): number {
  const number = Number.parseInt(text ?? '', 10);
  return number >= 0 && number <= MAX_NUMBER ? number : Math.min(otherwise, MAX_NUMBER);
}
