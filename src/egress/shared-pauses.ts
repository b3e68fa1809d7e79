import { MAX_PAUSE_MS, MAX_REASON_LENGTH, type PauseReport } from '../domain/host-pause.ts';
import type { Clock } from '../ports/clock.ts';
import type { WorkerHostPauses } from '../ports/host-pauses.ts';
import type { PoliteHostGate } from './polite-host-gate.ts';

interface SharedPausesDeps {
  readonly pauses: WorkerHostPauses;
  /** The name of this process. */
  readonly worker: string;
  readonly clock: Clock;
  readonly everyMs: number;
  readonly onError: (where: string, error: unknown) => void;
}

/** A shorter pause is over before others would hear of it. */
const MIN_SHARED_MS = 10_000;

/** Answers that come together ask for pauses that end together; only one that ends this much later is reported again. */
const LATER_MS = 5000;

/** While more hosts than that are paused, a new pause is kept by this process only: the list is read every few seconds. */
const MAX_SHARED = 500;

/**
 * Pauses of hosts, between the gate of this process and all others. At each look it reports what began here, learns what is
 * in force, and lets its items go to hosts whose pause was lifted. While that fails, the gate keeps to what it knows.
 */
export class SharedPauses {
  readonly #deps: SharedPausesDeps;
  /** Begun here and not reported yet. */
  readonly #begun = new Map<string, PauseReport>();
  /** In force when we last looked, or reported since; and until when. */
  #shared = new Map<string, number>();
  #isFailing = false;

  constructor(deps: SharedPausesDeps) {
    this.#deps = deps;
  }

  /** A host asked this process to wait. */
  note(host: string, ms: number, reason: string): void {
    if (ms < MIN_SHARED_MS) return;
    const at = this.#deps.clock.now();
    const until = at + ms;
    const known = Math.max(this.#begun.get(host)?.until ?? 0, this.#shared.get(host) ?? 0);
    if (until < known + LATER_MS || (known === 0 && this.#begun.size + this.#shared.size >= MAX_SHARED)) return;
    this.#begun.set(host, { host, until, reason: reason.slice(0, MAX_REASON_LENGTH), at });
  }

  /** Looks every few seconds until `stop` aborts. */
  async run(gate: PoliteHostGate, stop: AbortSignal): Promise<void> {
    const { clock, everyMs, onError } = this.#deps;
    while (!stop.aborted) {
      try {
        await this.runOnce(gate);
        this.#isFailing = false;
      } catch (error) {
        // Reported once, however long it lasts.
        if (!this.#isFailing && !stop.aborted) onError('host pauses', error);
        this.#isFailing = true;
      }
      await clock.sleep(everyMs, stop);
    }
  }

  async runOnce(gate: PoliteHostGate): Promise<void> {
    const { pauses, worker, clock } = this.#deps;
    for (const report of [...this.#begun.values()]) {
      await pauses.pause(report, worker, clock.now());
      this.#shared.set(report.host, report.until);
      if (this.#begun.get(report.host) === report) this.#begun.delete(report.host);
    }
    const inForce = await pauses.inForce(clock.now());
    const before = this.#shared;
    this.#shared = new Map(inForce.map(({ host, until }) => [host, until]));
    for (const { host, until } of inForce) gate.keepAway(host, Math.min(until - clock.now(), MAX_PAUSE_MS));
    for (const host of before.keys()) {
      // One that began while we looked is not the one that was lifted.
      if (!this.#shared.has(host) && !this.#begun.has(host)) gate.resume(host);
    }
  }
}
