import { removeJob } from '../../src/controller/jobs/remove-job.ts';
import type { SubmitAnswer } from '../../src/controller/jobs/submit.ts';
import type { Ledger } from '../../src/ports/ledger.ts';
import type { Dice } from './dice.ts';
import type { SimProcess } from './sim-process.ts';

/**
 * Users who delete jobs: one, or two who ask for the same at about the same time (a client that repeats its request), and
 * then make another job under the same id. What was acknowledged then must stay.
 */
export class RemovingUsers {
  readonly #parts: RemovingParts;

  constructor(parts: RemovingParts) {
    this.#parts = parts;
  }

  async once(jobId: string): Promise<void> {
    await this.#halt(jobId);
    await this.#remove(jobId, this.#parts.ledger);
  }

  async twice(jobId: string): Promise<void> {
    const { dice, process, ledger } = this.#parts;
    const known = await this.#ask(() => ledger.itemsAt(jobId, 0, dice.int(1, 6)));
    // The new items have the keys of the old ones, or others.
    const itemIds = dice.happens(0.6) ? known.map(({ itemId }) => itemId) : [];
    await this.#halt(jobId);
    const other = process.clock.sleep(dice.pick([0, 0, 5, 300])).then(() => this.#remove(jobId, this.#slowly(ledger)));
    if (await this.#remove(jobId, ledger)) await this.#makeAgain(jobId, itemIds);
    await other;
  }

  /** What is in progress is not deleted. */
  async #halt(jobId: string): Promise<void> {
    const { dice, ledger, process } = this.#parts;
    const reason = { code: 'user', message: 'paused', evidence: [] } as const;
    const event = dice.happens(0.5) ? ({ kind: 'cancel' } as const) : ({ kind: 'pause', reason } as const);
    await this.#ask(() => ledger.changeJob(jobId, event, process.clock.now()));
  }

  /** True if the job that was there is gone. Workers may still be at it for a while. */
  async #remove(jobId: string, ledger: Ledger): Promise<boolean> {
    const { dice, process } = this.#parts;
    for (let tries = 0; tries < 8; tries += 1) {
      const answer = await this.#ask(() => removeJob({ ledger, clock: process.clock }, jobId));
      if (answer.kind === 'removed') return true;
      if (answer.kind === 'missing') return false;
      await process.clock.sleep(dice.between(200, 4000));
    }
    return false;
  }

  async #makeAgain(jobId: string, itemIds: readonly string[]): Promise<void> {
    const { dice, process, submit } = this.#parts;
    for (;;) {
      const answer = await this.#ask(() => submit(jobId, itemIds));
      if (answer.kind !== 'being-removed') return;
      await process.clock.sleep(dice.between(100, 2000));
    }
  }

  /** A user whose request takes long between the check and the mark. */
  #slowly(ledger: Ledger): Ledger {
    const { dice, process } = this.#parts;
    return {
      ...ledger,
      changeJob: async (...given) => {
        await process.clock.sleep(dice.logBetween(1, 15_000));
        return await ledger.changeJob(...given);
      },
    };
  }

  #ask<T>(ask: () => Promise<T>): Promise<T> {
    return this.#parts.untilAnswered(ask);
  }
}

export interface RemovingParts {
  readonly process: SimProcess;
  readonly dice: Dice;
  readonly ledger: Ledger;
  /** Makes a job of that id, of these items or of others. */
  readonly submit: (jobId: string, itemIds: readonly string[]) => Promise<SubmitAnswer>;
  readonly untilAnswered: <T>(ask: () => Promise<T>) => Promise<T>;
}
