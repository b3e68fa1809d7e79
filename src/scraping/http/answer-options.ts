import type { Signs } from '../page/signs.ts';

/** How an answer is requested and judged. Every call that returns one takes these. */
export interface AnswerOptions {
  readonly headers?: Readonly<Record<string, string>>;
  /** Statuses other than 200 to 299 that are normal here. */
  readonly expectStatus?: readonly number[];
  /**
   * A selector for what the page must contain. A page that has it is never taken for maintenance or a block on a guess;
   * one that does not ends the try, with what the page says instead.
   */
  readonly expectElement?: string;
  /** Replaces the scraper's own signs, kind by kind: `{ maintenance: [] }` takes no text here for maintenance. */
  readonly signs?: Signs;
}
