import type { ItemRecord } from '../../src/domain/item.ts';
import type { JobRecord } from '../../src/domain/job.ts';
import { Dice } from './dice.ts';

/**
 * Sites that find nothing any more, from some moment on: each job has one of its own. It is repaired when a user goes on
 * with a job that was paused for a control item, and not before: one that recovers by itself before any control was tried
 * could not be noticed at all.
 */
export class ForgetfulSites {
  readonly #seed: number;
  readonly #repaired = new Set<string>();
  readonly isOn: boolean;

  constructor(seed: number, isOn: boolean) {
    this.#seed = seed;
    this.isOn = isOn;
  }

  forgets(jobId: string, now: number): boolean {
    if (!this.isOn || this.#repaired.has(jobId)) return false;
    return now >= new Dice(this.#seed, `forgets ${jobId}`).logBetween(200, 30_000);
  }

  repair(jobId: string): void {
    this.#repaired.add(jobId);
  }
}

/** What such a site says, and what no item may be left with. */
export const FORGOTTEN = 'scripted: the site has forgotten everything';

/** At the end: an item reported as not existing although it exists. A re-extraction has no controls. */
export function falseNegative({ status, extracts }: JobRecord, items: readonly ItemRecord[]): string | null {
  if (status !== 'completed' || extracts !== undefined) return null;
  const wrong = items.find((item) => item.status === 'failed' && item.attempts.at(-1)?.failure?.message === FORGOTTEN);
  return wrong === undefined ? null : `${wrong.itemId} is said not to exist, and no control was to be trusted then`;
}
