import type { Signs } from '../page/signs.ts';

/** How an answer is asked for and judged. Every call that brings one takes these. */
export interface AnswerOptions {
  readonly headers?: Readonly<Record<string, string>>;
  /** Statuses other than 200 to 299 that are normal here. */
  readonly expectStatus?: readonly number[];
  /**
   * A selector of what the page must have. A page that has it is never taken for maintenance or a block on a guess; one that
   * has it not ends the try, with what the page says instead.
   */
  readonly expectElement?: string;
  /** In place of the scraper's own, kind by kind: `{ maintenance: [] }` takes no text here for maintenance. */
  readonly signs?: Signs;
}
