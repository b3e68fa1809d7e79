import { type Failure, type FailureType, failure } from '../domain/failure.ts';

/**
 * A failure on its way out of a scraper. Authors simply write what they expect to find; if it is missing, the helper
 * throws, and it becomes a value again where the scraper is run.
 */
export class ScrapeFailure extends Error {
  readonly failure: Failure;

  constructor(what: Failure) {
    super(what.message);
    this.name = 'ScrapeFailure';
    this.failure = what;
  }

  /** An entry of the failure table: `not_found`, `blocked` … */
  get type(): FailureType {
    return this.failure.type;
  }
}

/** For authors: ends the item with an entry of the failure table. */
export function fail(type: FailureType, message: string): never {
  throw new ScrapeFailure(failure(type, message));
}
