import { type Element, isTag } from 'domhandler';
import type { PageDocument } from '../extract/page-document.ts';
import type { ClassBook } from './class-hints.ts';

const REFERENCE_CLASS = /^(?:footnote(?:-?ref(?:erence)?)?|fnref|noteref)$/;
const BACK_CLASS = /^(?:fn-?backref|footnote-?back(?:ref|link)?|reversefootnote|data-footnote-backref)$/;
const MAX_LABEL = 32;

/**
 * Footnotes of a page: the target of a reference is the note, whatever element that is. Generators write notes
 * differently, but all of them link references to notes.
 */
export class Footnotes {
  readonly #document: PageDocument;
  readonly #classes: ClassBook;
  readonly #labels = new Map<Element, string>();
  readonly #used = new Set<string>();
  /** Ids of references, to which the notes link back. */
  readonly #referenceIds = new Set<string>();

  constructor(document: PageDocument, classes: ClassBook) {
    this.#document = document;
    this.#classes = classes;
  }

  /** The label of the note that a link refers to; null if it is another link. */
  refer(link: Element, text: string): string | null {
    const href = link.attribs['href'] ?? '';
    if (!href.startsWith('#') || !this.#isReference(link)) return null;
    const note = this.#document.byId.get(decode(href.slice(1)));
    if (note === undefined) return null;
    for (const id of [link.attribs['id'], parentOf(link)?.attribs['id']]) if (id) this.#referenceIds.add(id);
    const known = this.#labels.get(note);
    if (known !== undefined) return known;
    const label = this.#newLabel(text);
    this.#labels.set(note, label);
    return label;
  }

  /** The label of an element that a reference led to. */
  labelOf(element: Element): string | null {
    return this.#labels.size === 0 ? null : (this.#labels.get(element) ?? null);
  }

  /** Whether it is the arrow of a note that leads back. */
  isWayBack(link: Element): boolean {
    const { names } = this.#classes.read(link.attribs['class']);
    if (names.some((name) => BACK_CLASS.test(name)) || link.attribs['role'] === 'doc-backlink') return true;
    const href = link.attribs['href'];
    return href?.startsWith('#') === true && this.#referenceIds.has(decode(href.slice(1)));
  }

  #isReference(link: Element): boolean {
    if (link.attribs['role'] === 'doc-noteref' || link.attribs['data-footnote-ref'] !== undefined) return true;
    const around = parentOf(link);
    return [link, ...(around?.name === 'sup' ? [around] : [])].some(({ attribs }) =>
      this.#classes.read(attribs['class']).names.some((name) => REFERENCE_CLASS.test(name)),
    );
  }

  #newLabel(text: string): string {
    const wanted = text.replace(/[^\p{L}\p{N}_-]+/gu, '').slice(0, MAX_LABEL) || String(this.#used.size + 1);
    let label = wanted;
    // A number occurs twice only if a page is assembled from several.
    for (let count = this.#used.size; this.#used.has(label); count += 1) label = `${wanted}-${count}`;
    this.#used.add(label);
    return label;
  }
}

function parentOf({ parent }: Element): Element | null {
  return parent !== null && isTag(parent) ? parent : null;
}

function decode(fragment: string): string {
  try {
    return decodeURIComponent(fragment);
  } catch {
    return fragment;
  }
}
