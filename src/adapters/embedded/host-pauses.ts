import { PauseBook } from '../../domain/host-pause.ts';
import type { HostPauses } from '../../ports/host-pauses.ts';

/**
 * Kept in the process that owns the ledger, which workers reach by their socket. They are not written down: workers that it
 * started end with it, others begin anew with the next owner, and a host that still wants to be left alone says so again.
 */
export class EmbeddedHostPauses implements HostPauses {
  readonly #book = new PauseBook();

  async pause(...report: Parameters<HostPauses['pause']>): Promise<void> {
    this.#book.pause(...report);
  }

  async inForce(now: number) {
    return this.#book.inForce(now);
  }

  async lift(host: string, now: number): Promise<boolean> {
    return this.#book.lift(host, now);
  }
}
