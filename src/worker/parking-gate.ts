import type { HostAnswer } from '../domain/host-outage.ts';
import type { TroubleRate } from '../domain/host-trouble.ts';
import type { GatePause, HostGate, RetryAnswer, WorkerGate } from '../ports/host-gate.ts';
import type { Place } from './slots.ts';

/** The gate as lent to one batch of a job: while the batch waits to enter a host, its slot is free for others. */
export class ParkingGate implements HostGate {
  readonly #gate: WorkerGate;
  readonly #job: string;
  readonly #place: Pick<Place, 'park'>;

  constructor(gate: WorkerGate, job: string, place: Pick<Place, 'park'>) {
    this.#gate = gate;
    this.#job = job;
    this.#place = place;
  }

  enter(host: string, patienceMs: number, signal: AbortSignal): Promise<() => void> {
    const isOpen = this.#gate.isOpen(host, this.#job);
    const entering = this.#gate.enter(host, patienceMs, signal, this.#job);
    return isOpen ? entering : this.#park(host, entering);
  }

  async #park(host: string, entering: Promise<() => void>): Promise<() => void> {
    const opening = this.#gate.opening(host);
    const entered = opening === null ? null : await Promise.race([entering, opening.then(() => null)]);
    // A slot is not given up for the moment it takes to open a host.
    if (entered !== null) return entered;
    const goOn = this.#place.park();
    try {
      return await entering;
    } finally {
      goOn();
    }
  }

  hold(host: string, ms: number, why: string): void {
    this.#gate.hold(host, ms, why);
  }

  noteTrouble(host: string): TroubleRate {
    return this.#gate.noteTrouble(host);
  }

  noteAnswer(host: string, answer: HostAnswer, why: string): void {
    this.#gate.noteAnswer(host, answer, why);
  }

  pauseOf(host: string): GatePause | null {
    return this.#gate.pauseOf(host);
  }

  takeRetry(host: string): RetryAnswer {
    return this.#gate.takeRetry(host);
  }
}

/** Waits until the next item of the job may begin; null if it may now. While it waits, its slot is free for others. */
export function paceParked(
  gate: WorkerGate,
  job: string,
  place: Pick<Place, 'park'>,
  signal: AbortSignal,
): Promise<unknown> | null {
  const pacing = gate.paceItem(job, signal);
  return pacing === null ? null : pacing.finally(place.park());
}
