import { PauseBook } from '../../domain/host-pause.ts';
import type { HostPauses } from '../../ports/host-pauses.ts';

/**
 * Kept in the process that owns the ledger, which workers reach through their socket. They are not written to disk:
 * workers that it started end with it, others start over with the next owner, and a host that still wants a pause asks
 * for it again.
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
