import type { HostAnswer } from '../domain/host-outage.ts';
import type { TroubleRate } from '../domain/host-trouble.ts';
import type { JobLimits } from '../domain/job-limits.ts';

/**
 * Politeness: who may talk to a host now. One gate is shared by all items of a process, whatever their job, so that a site
 * sees one polite visitor and not a crowd. Egress enters it for every request (egress/enter-host.ts); scrapers only report,
 * by `noteTrouble` and `hold`, what went wrong there and that a host asked for a pause.
 */
export interface HostGate {
  /**
   * Waits until the caller may talk to the host, then resolves to the function that leaves it; leaving twice is
   * harmless. Rejects with the signal's reason if it aborts first, and with HostHeld if the host is paused for longer
   * than `patienceMs`, now or while the caller waits: the attempt decides what to do about a longer pause. In both
   * cases the host was not entered.
   */
  enter(host: string, patienceMs: number, signal: AbortSignal): Promise<() => void>;
  /**
   * The host asked us to go slower, for the reason in `why`: no caller enters for that long. A pause that ends before the
   * one in force is ignored.
   */
  hold(host: string, ms: number, why: string): void;
  /** The host refused a request or failed to serve it. Returns how common that is among its recent requests. */
  noteTrouble(host: string): TroubleRate;
  /**
   * What an answer, or its absence, says about the host; `why` says it in words. A host that is away is left alone for
   * growing pauses, with one request after each. After a refusal it is visited more slowly.
   */
  noteAnswer(host: string, answer: HostAnswer, why: string): void;
  /** The pause of a host that is in force; null if there is none. */
  pauseOf(host: string): GatePause | null;
  /** Whether one more retry may go to the host (`retry-budget.ts`). If it may, it counts as sent. */
  takeRetry(host: string): RetryAnswer;
}

/**
 * `later`: there were too many, at a host that has worked before. `never`: there were too many, at a host that never
 * worked.
 */
export type RetryAnswer = 'go' | 'later' | 'never';

export interface GatePause {
  /** How much longer it lasts. */
  readonly ms: number;
  readonly reason: string;
  /** Whether the host is away, rather than having asked for the pause. */
  readonly isAway: boolean;
}

/** A gate that lets everything pass, for visits that reach no host. */
export const OPEN_GATE: HostGate = {
  enter: async () => () => {},
  hold: () => {},
  noteTrouble: () => 'rare',
  noteAnswer: () => {},
  pauseOf: () => null,
  takeRetry: () => 'go',
};

/** The gate as seen by the worker, which lends it to its scrapers. */
export interface WorkerGate extends HostGate {
  /**
   * The same on behalf of a job, whose own limits also apply. Callers of one job enter in the order in which they came.
   */
  enter(host: string, patienceMs: number, signal: AbortSignal, job?: string): Promise<() => void>;
  /** Whether a caller of the job could enter now without waiting. */
  isOpen(host: string, job?: string): boolean;
  /**
   * Resolves when it is known how much of the host this process may use, which takes a moment; null if it is already
   * known.
   */
  opening(host: string): Promise<void> | null;
  /** The pace that a job's policy allows, as far as it is known here; later calls replace earlier ones. */
  setJobLimits(job: string, pace: JobLimits): void;
  /**
   * Waits until the job may begin another item; null if it may now. Rejects with the signal's reason when it aborts first.
   */
  paceItem(job: string, signal: AbortSignal): Promise<unknown> | null;
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
