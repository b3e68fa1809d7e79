import type { Clock } from '../ports/clock.ts';
import type { SettleAnswer, SettlePart, WorkerLeases } from '../ports/ledger.ts';
import { StorageTrouble } from '../ports/storage-trouble.ts';

/**
 * Combines the settles of all slots: those made in one turn of the event loop go to the ledger in one call, or in a few
 * if there are many. A ledger without space is asked again for as long as the caller wants to wait; its lease is
 * renewed meanwhile, and finished work is not repeated.
 */
export class Settler {
  readonly #leases: Pick<WorkerLeases, 'settle'>;
  readonly #clock: Clock;
  #waiting: Waiting[] = [];

  constructor(leases: Pick<WorkerLeases, 'settle'>, clock: Clock) {
    this.#leases = leases;
    this.#clock = clock;
  }

  settle(part: SettlePart, signal: AbortSignal): Promise<SettleAnswer> {
    const { promise, resolve, reject } = Promise.withResolvers<SettleAnswer>();
    this.#waiting.push({ part, signal, resolve, reject });
    if (this.#waiting.length === 1) void this.#flushSoon();
    return promise;
  }

  async #flushSoon(): Promise<void> {
    await this.#clock.turn();
    const waiting = this.#waiting;
    this.#waiting = [];
    for (let at = 0; at < waiting.length; at += PARTS_PER_CALL) {
      void this.#flush(waiting.slice(at, at + PARTS_PER_CALL));
    }
  }

  async #flush(group: readonly Waiting[]): Promise<void> {
    try {
      const answers = await this.#leases.settle(
        group.map(({ part }) => part),
        this.#clock.now(),
      );
      for (const [index, { resolve, reject }] of group.entries()) {
        const answer = answers[index];
        if (answer === undefined) reject(new Error('the ledger gave fewer answers than it was asked'));
        else resolve(answer);
      }
    } catch (error) {
      if (!(error instanceof StorageTrouble)) {
        await this.#flushApart(group, error);
        return;
      }
      await this.#clock.sleep(RETRY_AFTER_TROUBLE_MS);
      const patient = group.filter(({ signal }) => !signal.aborted);
      for (const { signal, reject } of group) if (signal.aborted) reject(error);
      if (patient.length > 0) await this.#flush(patient);
    }
  }

  /** One part that the ledger cannot accept must not cost the others of its group. */
  async #flushApart(group: readonly Waiting[], error: unknown): Promise<void> {
    if (group.length > 1) await Promise.all(group.map((one) => this.#flush([one])));
    else for (const { reject } of group) reject(error);
  }
}

const RETRY_AFTER_TROUBLE_MS = 500;

/** A call is one step of the ledger, and other callers wait meanwhile: see `MOST_AT_ONCE` in `slots.ts`. */
const PARTS_PER_CALL = 128;

interface Waiting {
  readonly part: SettlePart;
  readonly signal: AbortSignal;
  readonly resolve: (answer: SettleAnswer) => void;
  readonly reject: (error: unknown) => void;
}
