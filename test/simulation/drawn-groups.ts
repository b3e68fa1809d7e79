import type { NewJobRequest } from '../../src/contract/new-job.ts';
import { Dice } from './dice.ts';

/** Groups of items, and which jobs have batches by group. Only some worlds have any, with dice of their own. */
export class DrawnGroups {
  readonly #dice: Dice;
  readonly #isThere: boolean;
  #group = 0;
  #left = 0;

  constructor(seed: number) {
    this.#dice = new Dice(seed, 'groups');
    this.#isThere = this.#dice.happens(0.4);
  }

  batching(): Pick<NewJobRequest, 'batching'> {
    if (!this.#isThere || !this.#dice.happens(0.8)) return {};
    return { batching: { by: 'group', max_items: this.#dice.pick([1, 2, 3, 5, 8]) } };
  }

  /** The group of the next item: runs of several, some of them without a group; a name may come again. */
  next(): { readonly group?: string } {
    if (!this.#isThere) return {};
    if (this.#left === 0) {
      this.#left = this.#dice.int(1, 6);
      this.#group = this.#dice.int(0, 4);
    }
    this.#left -= 1;
    return this.#group === 0 ? {} : { group: `site-${this.#group}` };
  }
}
