import { failure } from '../domain/failure.ts';
import { WholePage } from './extract/whole-page.ts';
import { type Arrival, type Explanation, explainAbsence } from './page/explain-absence.ts';
import { type CompiledSigns, nothingFoundIn } from './page/signs.ts';
import { ScrapeFailure } from './scrape-failure.ts';

/**
 * A page that has just arrived and seemed good, whatever fetched it. Missing values are explained by what it says
 * instead.
 */
export abstract class JudgedReader extends WholePage {
  readonly #arrival: Arrival;
  readonly #signs: CompiledSigns;

  /** `signs` are those by which it was judged. */
  constructor({ arrival, signs }: { readonly arrival: Arrival; readonly signs: CompiledSigns }) {
    super();
    this.#arrival = arrival;
    this.#signs = signs;
  }

  /** What the page says that would explain why something is not on it; `isGuess`: it says so among much else. */
  explainAbsence(): (Explanation & { readonly isGuess: boolean }) | null {
    const explained = explainAbsence(this.body, this.#signs, this.#arrival);
    if (explained !== null) return { ...explained, isGuess: false };
    const nothing = this.#signs.nothingFound === null ? nothingFoundIn(this.body) : null;
    return nothing && { type: 'structure_changed', said: `the site says "${nothing.sentence}"`, isGuess: true };
  }

  /** What the page says in place of what was looked for is a better answer than that it is not there. */
  protected override absent(what: string): ScrapeFailure {
    const explained = this.explainAbsence();
    if (explained === null) return this.notOnPage(what);
    if (explained.isGuess) return this.notOnPage(`${explained.said} among much else; ${what}`);
    return new ScrapeFailure(
      failure(explained.type, `${explained.said}, and ${what} is not on the page (${this.url})`),
    );
  }
}
