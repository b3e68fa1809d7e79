import type { HostAnswer } from '../domain/host-outage.ts';
import type { TroubleRate } from '../domain/host-trouble.ts';
import type { GatePause, HostGate, RetryAnswer } from '../ports/host-gate.ts';

/**
 * The gate as lent to one attempt. It remembers the host of the last request, and whether that request got an answer.
 */
export class AttemptGate implements HostGate {
  readonly #gate: HostGate;
  #host: string | null = null;
  #hadAnswer = false;

  constructor(gate: HostGate) {
    this.#gate = gate;
  }

  /** The host requested last; null if none was. */
  get host(): string | null {
    return this.#host;
  }

  /** Whether the last request reached its host: false for one that the gate did not let in. */
  get hadAnswer(): boolean {
    return this.#hadAnswer;
  }

  /** The pause of that host. */
  pause(): GatePause | null {
    return this.#host === null ? null : this.#gate.pauseOf(this.#host);
  }

  enter(host: string, patienceMs: number, signal: AbortSignal): Promise<() => void> {
    this.#host = host;
    this.#hadAnswer = false;
    return this.#gate.enter(host, patienceMs, signal);
  }

  hold(host: string, ms: number, why: string): void {
    this.#gate.hold(host, ms, why);
  }

  noteTrouble(host: string): TroubleRate {
    this.#hadAnswer = true;
    return this.#gate.noteTrouble(host);
  }

  noteAnswer(host: string, answer: HostAnswer, why: string): void {
    this.#hadAnswer = true;
    this.#gate.noteAnswer(host, answer, why);
  }

  pauseOf(host: string): GatePause | null {
    return this.#gate.pauseOf(host);
  }

  takeRetry(host: string): RetryAnswer {
    return this.#gate.takeRetry(host);
  }
}
