import type { SelectorUse } from '../extract/selector-watch.ts';

/** All uses of one selector. */
export interface SelectorGroup {
  /** Without the number of the row that it was used in: `.no in .bill`. */
  readonly selector: string;
  readonly uses: number;
  readonly fewest: number;
  readonly most: number;
  /** Text of the first use that found something; null if none did. */
  readonly text: string | null;
}

/** A scraper that reads hundreds of rows uses each of its selectors hundreds of times. */
export class SelectorGroups {
  readonly #groups = new Map<string, SelectorGroup>();

  add({ selector, matches, text }: SelectorUse): void {
    const name = selector.replaceAll(/ \(\d+\)(?= in |$)/g, '');
    const known = this.#groups.get(name);
    this.#groups.set(name, {
      selector: name,
      uses: (known?.uses ?? 0) + 1,
      fewest: Math.min(known?.fewest ?? matches, matches),
      most: Math.max(known?.most ?? matches, matches),
      text: known?.text ?? text?.slice(0, LONGEST_TEXT) ?? null,
    });
  }

  /** In the order of their first use. */
  list(): readonly SelectorGroup[] {
    return [...this.#groups.values()];
  }
}

/** More than any display shows. */
const LONGEST_TEXT = 1000;
