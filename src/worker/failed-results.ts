import { mostTelling, type SeenTry } from '../domain/failed-try.ts';
import type { FailureType } from '../domain/failure.ts';
import type { ScrapeResult } from '../scraping/scraper.ts';

type FailedResult = ScrapeResult & { readonly kind: 'failed' };

const NONE: readonly SeenTry[] = [];

/** The failed tries of one attempt, and what each type of failure left: one of them becomes the item's. */
export class FailedResults {
  #tries: readonly SeenTry[] = NONE;
  #lastOf: Map<FailureType, FailedResult> | null = null;

  get tries(): readonly SeenTry[] {
    return this.#tries;
  }

  /** `waitMs`: time before the next try. Its documents are discarded by then, so only what is in memory is kept. */
  add(result: FailedResult, at: number, waitMs: number): void {
    this.#note(result, at, waitMs);
    const { artifacts, ...rest } = result;
    const held = artifacts?.filter(({ bytes }) => bytes instanceof Uint8Array);
    this.#lastOf ??= new Map();
    this.#lastOf.set(result.failure.type, held === undefined ? rest : { ...rest, artifacts: held });
  }

  /** After the last try: the result of the try that says most about the item. */
  conclude(last: FailedResult, at: number): FailedResult {
    const earlier = this.#tries.map(({ failure }) => failure.type);
    this.#note(last, at, null);
    const type = mostTelling(earlier, last.failure.type);
    return type === last.failure.type ? last : (this.#lastOf?.get(type) ?? last);
  }

  #note({ failure }: FailedResult, at: number, waitMs: number | null): void {
    this.#tries = [...this.#tries, { number: this.#tries.length + 1, failure, at, waitMs }];
  }
}
