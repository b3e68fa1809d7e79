import type { Element } from 'domhandler';
import { findAll } from './find.ts';
import type { PageDocument } from './page-document.ts';
import { visibleText } from './visible-text.ts';

/** A selector that a scraper used, and what it found. */
export interface SelectorUse {
  /** With the way to it: `.no in .bill (2)`. */
  readonly selector: string;
  readonly matches: number;
  /** What a person sees of the first match, or its tag if that is nothing; null without a match. */
  readonly text: string | null;
}

/**
 * Reports what selectors found while a scraper is being tried. There is one per process, because readers are created
 * deep inside scrapers; when off, it costs a comparison per selector.
 */
class SelectorWatch {
  #listener: ((use: SelectorUse) => void) | null = null;

  /** Listens until the returned function is called. One listener at a time. */
  listen(listener: (use: SelectorUse) => void): () => void {
    this.#listener = listener;
    return () => {
      this.#listener = null;
    };
  }

  /** `root` is what was searched; null for the whole page. */
  note(page: () => PageDocument, root: Element | null, selector: string, name: string): void {
    if (this.#listener === null) return;
    const matches = findAll(page(), root, selector);
    const [first] = matches;
    this.#listener({ selector: name, matches: matches.length, text: first === undefined ? null : describe(first) });
  }
}

export const SELECTOR_WATCH = new SelectorWatch();

function describe(element: Element): string {
  const text = visibleText(element);
  if (text !== '') return text;
  const attributes = Object.entries(element.attribs).map(([name, value]) => ` ${name}="${value}"`);
  return `<${element.name}${attributes.join('')}>`;
}
