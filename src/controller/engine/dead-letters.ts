import { LANES, type Lane } from '../../domain/lane.ts';
import type { Clock } from '../../ports/clock.ts';
import type { LeaseBook } from '../../ports/ledger.ts';
import type { DeadLetters } from '../../ports/work-queue.ts';
import type { EventStream } from './events.ts';

/**
 * Empties the queue of dead letters. A message ends there if it was delivered several times and each receiver was gone
 * before it could claim the batch: in the ledger that batch still waits, and no worker will hear of it again.
 *
 * The drain claims it like a worker would, with a lease that expires at once. So the reaper finds a worker's death, and
 * the usual rules apply: strikes, suspect batches, and `poison` at the third. No other way into the ledger is needed, and
 * an item ends in the same way whether its worker died before the claim or after it. A suspect batch charges only the
 * item that was begun; the drain begins the first one, as a worker would have.
 *
 * `gone` and `held` need no action: the batch ended, or a worker has it. The message is deleted after the ledger has
 * answered; if we die in between, it is found again and its batch is gone.
 */
export class DeadLetterDrain {
  readonly #deps: DeadLetterDeps;

  constructor(deps: DeadLetterDeps) {
    this.#deps = deps;
  }

  /** Returns how many batches were taken for lost. */
  async runOnce(): Promise<{ batches: number }> {
    const { events, onError } = this.#deps;
    let batches = 0;
    for (const lane of LANES) {
      try {
        for (let step = await this.#step(lane); step !== null; step = await this.#step(lane)) batches += step;
      } catch (error) {
        // One queue that cannot be read must not keep the other one from being emptied.
        onError('dead letters', error);
      }
    }
    if (batches > 0) events.publish({ kind: 'dead-letters', batches });
    return { batches };
  }

  /** Null if there are no more for now. */
  async #step(lane: Lane): Promise<number | null> {
    const { deadLetters, ledger, clock, mayWork } = this.#deps;
    if (!mayWork()) return null;
    const deliveries = await deadLetters.takeDead(lane, LETTERS_PER_STEP);
    if (deliveries.length === 0) return null;
    const now = clock.now();
    const refs = deliveries.map(({ ref }) => ref);
    const answers = await ledger.claim(refs, CLAIMANT, now, now);
    const leases = answers.filter((answer) => typeof answer !== 'string');
    for (const { token, suspect, items } of leases) {
      const [first] = items;
      if (suspect && first !== undefined) await ledger.begin(token, first.seq);
    }
    await deadLetters.forgetDead(deliveries.map(({ receipt }) => receipt));
    return leases.length;
  }
}

const CLAIMANT = 'dead-letters';

/** A claim is one step of the ledger, and other callers wait meanwhile. */
const LETTERS_PER_STEP = 30;

interface DeadLetterDeps {
  readonly deadLetters: DeadLetters;
  readonly ledger: Pick<LeaseBook, 'claim' | 'begin'>;
  readonly clock: Clock;
  readonly events: EventStream;
  readonly mayWork: () => boolean;
  readonly onError: (where: string, error: unknown) => void;
}
