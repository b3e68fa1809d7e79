/**
 * Politeness: who may talk to a host now. It is shared by all items of a process, whatever their job, so that a site
 * sees one visitor with manners and not a crowd.
 */
export interface HostGate {
  /**
   * Waits for a turn at the host, then answers how to give it back; calling that twice is no harm. Rejects with the
   * signal's reason when it aborts first, and with HostHeld when the host is held for longer than `patienceMs`, now or
   * while it waits: the attempt decides what to do about a longer pause. In either case no turn was taken.
   */
  enter(host: string, patienceMs: number, signal: AbortSignal): Promise<() => void>;
  /**
   * The host asked us to go slower, and why, in words: nobody enters for that long. Shorter than what is in force already
   * is ignored.
   */
  hold(host: string, ms: number, why: string): void;
}

/** The gate as the worker sees it that lends it to its scrapers. */
export interface WorkerGate extends HostGate {
  /** Whether a caller who enters now gets its turn at once. */
  isOpen(host: string): boolean;
}

/** The host asked to be left alone for longer than anybody should stand at its gate. */
export class HostHeld extends Error {
  readonly host: string;
  /** How much longer. */
  readonly ms: number;

  constructor(host: string, ms: number) {
    super(`${host} asked to be left alone for another ${Math.ceil(ms / 1000)} s`);
    this.name = 'HostHeld';
    this.host = host;
    this.ms = ms;
  }
}
