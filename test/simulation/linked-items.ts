import type { PartialPolicy } from '../../src/domain/policy.ts';
import type { FoundItem, ScrapeResult } from '../../src/scraping/scraper.ts';
import { Dice } from './dice.ts';

/** There are few, so that most links lead to what another item has found, or back. */
const MOST_LINKS = 25;

/**
 * Pages with links to others: some of them to what was submitted, some twice, some with another input under the same id, some
 * to nothing. What an item finds depends on its id alone, in any worker and however often. Links have dice of their
 * own, so that they change nothing in worlds without them.
 */
export class LinkedItems {
  readonly #seed: number;
  readonly #policies: Dice;
  readonly isOn: boolean;

  constructor(seed: number, isOn: boolean) {
    this.#seed = seed;
    this.#policies = new Dice(seed, 'limits of discovery');
    this.isOn = isOn;
  }

  /** Entries as the scraper returns them. */
  of(jobId: string, itemId: string): readonly FoundItem[] {
    if (!this.isOn) return [];
    const dice = new Dice(this.#seed, `links of ${jobId}/${itemId}`);
    if (!dice.happens(0.6)) return [];
    return Array.from({ length: dice.int(1, 5) }, () => drawLink(dice));
  }

  /** The result of an item, with what its page leads to. */
  addTo(result: ScrapeResult, jobId: string, itemId: string): ScrapeResult {
    const found = result.kind === 'failed' ? [] : this.of(jobId, itemId);
    return found.length === 0 || result.kind === 'failed' ? result : { ...result, found };
  }

  /** The limits of a job, in worlds with links. */
  policy(): Pick<PartialPolicy, 'discovery'> {
    if (!this.isOn) return {};
    const dice = this.#policies;
    return { discovery: { max_depth: dice.pick([0, 1, 2, 5]), max_items: dice.pick([3, 12, 100_000]) } };
  }
}

function drawLink(dice: Dice): FoundItem {
  const number = dice.int(1, MOST_LINKS);
  // This is not an item: the page is wrong here.
  if (dice.happens(0.05)) return { input: null } as unknown as FoundItem;
  if (dice.happens(0.1)) return { item_id: `item-${number}`, input: { number } };
  const input = dice.happens(0.1) ? { link: number, from: 'elsewhere' } : { link: number };
  return { item_id: `link-${number}`, input, ...(dice.happens(0.2) ? { group: 'linked' } : {}) };
}

/** Whether an entry can become an item. */
export function isItem({ input }: FoundItem): boolean {
  return input !== null;
}
