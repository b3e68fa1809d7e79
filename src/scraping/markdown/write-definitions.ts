import { type Element, isTag, isText, type ParentNode } from 'domhandler';
import { readCode, writeCodeSpan } from './code-block.ts';
import type { Conversion } from './conversion.ts';
import { escapeLineStarts } from './escape-text.ts';
import { writeNote } from './write-list.ts';

interface Entry {
  readonly terms: Element[];
  readonly definitions: Element[];
}

/**
 * A definition list: an item for each term, in bold, with the definition below it. Markdown has no such lists, and this
 * way definitions with code, tables and further lists keep their form.
 */
export function writeDefinitions(list: Element, conversion: Conversion): void {
  for (const { terms, definitions } of readEntries(list, conversion)) {
    const label = terms[0] === undefined ? null : conversion.notes.labelOf(terms[0]);
    if (label !== null) {
      for (const definition of definitions) writeNote(definition, label, conversion);
      continue;
    }
    conversion.out.nest('- ', '  ', () => {
      for (const [index, term] of terms.entries()) {
        const text = writeTerm(term, conversion);
        if (text !== '') conversion.out.write(text);
        if (index > 0) conversion.out.loosen();
      }
      for (const definition of definitions) {
        conversion.walk(definition);
        conversion.edge();
      }
    });
  }
}

/** A signature of an API is code as a whole. Other terms are bold, unless they have their own emphasis. */
function writeTerm(term: Element, conversion: Conversion): string {
  const { names } = conversion.classes.read(term.attribs['class']);
  if (names.includes('sig') || names.includes('sig-object')) return writeCodeSpan(readCode(term, conversion.classes));
  return escapeLineStarts(makeBold(conversion.flatten(term, ' ')));
}

export function makeBold(text: string): string {
  return text === '' || text.includes('*') || text.startsWith('`') || text.startsWith('_') ? text : `**${text}**`;
}

function readEntries(list: ParentNode, conversion: Conversion): Entry[] {
  const entries: Entry[] = [];
  const read = (parent: ParentNode): void => {
    for (const child of parent.children) {
      if (isText(child)) conversion.inline.text(child.data);
      if (!isTag(child) || conversion.isLeftOut(child)) continue;
      const last = entries[entries.length - 1];
      if (child.name === 'dt') {
        if (last !== undefined && last.definitions.length === 0) last.terms.push(child);
        else entries.push({ terms: [child], definitions: [] });
      } else if (child.name === 'div') read(child);
      else if (last !== undefined) last.definitions.push(child);
      else entries.push({ terms: [], definitions: [child] });
    }
  };
  read(list);
  conversion.edge();
  return entries;
}
