import { readAdmonitionKind } from './admonition.ts';
import { readLanguage } from './code-language.ts';
import { isNoiseClass } from './noise.ts';

/** What the classes of an element mean to us. */
export interface ClassHints {
  readonly names: readonly string[];
  readonly isNoise: boolean;
  /** The language of the code inside; empty if the classes name none. */
  readonly language: string;
  /** The alert it becomes; null if it is not one. */
  readonly admonition: string | null;
}

const NONE: ClassHints = { names: [], isNoise: false, language: '', admonition: null };
const MAX_NAMES = 64;

/** A page has thousands of elements and a few dozen distinct classes, so each of these is read once. */
export class ClassBook {
  readonly #known = new Map<string, ClassHints>();

  read(className: string | undefined): ClassHints {
    if (className === undefined || className === '') return NONE;
    const known = this.#known.get(className);
    if (known !== undefined) return known;
    const names = className.toLowerCase().split(/\s+/, MAX_NAMES).filter(Boolean);
    const hints = {
      names,
      isNoise: names.some(isNoiseClass),
      language: readLanguage(names),
      admonition: readAdmonitionKind(names),
    };
    this.#known.set(className, hints);
    return hints;
  }
}
