import type { TroubleRate } from '../domain/host-trouble.ts';

/**
 * Politeness: who may talk to a host now. One gate is shared by all items of a process, whatever their job, so that a site
 * sees one polite visitor and not a crowd. Egress enters it for every request (egress/enter-host.ts); scrapers only report,
 * by `noteTrouble` and `hold`, what went wrong there and that a host asked for a pause.
 */
export interface HostGate {
  /**
   * Waits until the caller may talk to the host, then answers how to leave; leaving twice is harmless. Rejects with the
   * signal's reason when it aborts first, and with HostHeld when the host is paused for longer than `patienceMs`, now or
   * while the caller waits: the attempt decides what to do about a longer pause. In either case the host was not entered.
   */
  enter(host: string, patienceMs: number, signal: AbortSignal): Promise<() => void>;
  /**
   * The host asked us to go slower, for the reason in `why`: no caller enters for that long. A pause that ends before the
   * one in force is ignored.
   */
  hold(host: string, ms: number, why: string): void;
  /** The host refused a request or failed at it. Answers how common that is among the requests that went there lately. */
  noteTrouble(host: string): TroubleRate;
}

/** The gate as seen by the worker, which lends it to its scrapers. */
export interface WorkerGate extends HostGate {
  /** Whether a caller that enters now does not have to wait. */
  isOpen(host: string): boolean;
}

/** The host is paused for longer than the caller was willing to wait. */
export class HostHeld extends Error {
  readonly host: string;
  /** How much longer. */
  readonly ms: number;
  /** What the host answered, or what an operator noted. */
  readonly why: string;

  constructor(host: string, ms: number, why: string) {
    super(`${host} is paused for another ${Math.ceil(ms / 1000)} s: ${why}`);
    this.name = 'HostHeld';
    this.host = host;
    this.ms = ms;
    this.why = why;
  }
}
