import { WaitBook } from '../../domain/item-wait.ts';
import type { ItemWaits } from '../../ports/item-waits.ts';

/** Kept in the process that owns the ledger, which workers reach through their socket; never written. */
export class EmbeddedItemWaits implements ItemWaits {
  readonly #book = new WaitBook();

  async add(...report: Parameters<ItemWaits['add']>): Promise<void> {
    this.#book.add(...report);
  }

  ofJob(jobId: string, now: number) {
    return this.#book.ofJob(jobId, now);
  }

  forget(worker: string): void {
    this.#book.forget(worker);
  }
}
