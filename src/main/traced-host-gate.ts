import { type HostGateSettings, PoliteHostGate } from '../egress/polite-host-gate.ts';
import type { Clock } from '../ports/clock.ts';

/** A shorter wait is only the event loop. */
const NOTICEABLE_MS = 20;

/** The host gate of a visitor who wants to know where the time went. */
export class TracedHostGate extends PoliteHostGate {
  readonly #clock: Clock;
  readonly #onWait: (host: string, ms: number) => void;

  constructor(settings: HostGateSettings, onWait: (host: string, ms: number) => void) {
    super(settings);
    this.#clock = settings.clock;
    this.#onWait = onWait;
  }

  override async enter(host: string, patienceMs: number, signal: AbortSignal): Promise<() => void> {
    const begunAt = this.#clock.elapsed();
    const leave = await super.enter(host, patienceMs, signal);
    const ms = Math.round(this.#clock.elapsed() - begunAt);
    if (ms >= NOTICEABLE_MS) this.#onWait(host, ms);
    return leave;
  }
}
