import { hash } from 'node:crypto';
import { extractBody } from '../../src/contract/requests.ts';
import { beginExtraction, type ExtractionDeps } from '../../src/controller/extraction/begin-extraction.ts';
import { replaceResults } from '../../src/controller/extraction/replace-results.ts';
import type { CatalogScraper } from '../../src/controller/intake/scraper-catalog.ts';
import type { Clock } from '../../src/ports/clock.ts';
import { NO_FAULTS } from '../../src/ports/faults.ts';
import type { Ledger } from '../../src/ports/ledger.ts';
import type { Dice } from './dice.ts';

/** Few, because each has as many items as the job that it reads. */
const MOST_EXTRACTIONS = 3;
const MOST_LOOKS = 60;

/** Asks again until there is an answer. */
export type UntilAnswered = <T>(ask: () => Promise<T>) => Promise<T>;

/** A user who has stored pages read again, and puts what came out of it in the place of the old results. */
export class ExtractingUser {
  readonly #parts: ExtractionDeps;
  readonly #dice: Dice;
  readonly #untilAnswered: UntilAnswered;
  readonly #made: string[] = [];

  constructor(ledger: Ledger, clock: Clock, dice: Dice, scraper: CatalogScraper, untilAnswered: UntilAnswered) {
    const digest = (text: string) => hash('sha256', text);
    this.#parts = {
      ledger,
      clock,
      digest,
      faults: NO_FAULTS,
      catalog: { find: async () => scraper, ofJob: async () => scraper, list: async () => [] },
    };
    this.#dice = dice;
    this.#untilAnswered = untilAnswered;
  }

  /** Makes a re-extraction of the job, waits until it is over, and puts it in place, whatever happens meanwhile. */
  async extractAndReplace(jobId: string): Promise<void> {
    if (this.#made.length >= MOST_EXTRACTIONS || this.#made.includes(jobId)) return;
    // The id is never used again: what is removed stays in the store.
    const newId = `${jobId}-again-${this.#made.length + 1}`;
    this.#made.push(newId);
    const request = extractBody.parse({ job_id: newId, max_concurrent_workers: this.#dice.int(1, 4) });
    const { kind } = await this.#untilAnswered(() => beginExtraction(this.#parts, jobId, request));
    for (let looks = 0; kind === 'begun' && looks < MOST_LOOKS; looks += 1) {
      await this.#parts.clock.sleep(this.#dice.between(200, 2000));
      const job = await this.#untilAnswered(() => this.#parts.ledger.job(newId));
      if (job === null || job.status === 'cancelled') return;
      if (job.status !== 'completed') continue;
      await this.#untilAnswered(() => replaceResults(this.#parts, newId));
      return;
    }
  }

  /** Puts one of those that were made in place, once more or instead of another. Refused unless it is completed. */
  async replaceAgain(): Promise<void> {
    if (this.#made.length === 0) return;
    const newId = this.#dice.pick(this.#made);
    await this.#untilAnswered(() => replaceResults(this.#parts, newId));
  }
}
