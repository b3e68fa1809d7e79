import type { Clock } from '../../ports/clock.ts';

/**
 * Repeats a service's `runOnce` until `signal` aborts: every `everyMs`, and at once when it is poked. An error is
 * passed to `onError`, and the next round follows anyway.
 */
export class Loop {
  readonly #clock: Clock;
  readonly #everyMs: number;
  readonly #runOnce: () => Promise<unknown>;
  readonly #onError: (error: unknown) => void;
  #poked = false;
  #sleeper: AbortController | null = null;

  constructor(deps: {
    clock: Clock;
    everyMs: number;
    runOnce: () => Promise<unknown>;
    onError: (error: unknown) => void;
  }) {
    this.#clock = deps.clock;
    this.#everyMs = deps.everyMs;
    this.#runOnce = deps.runOnce;
    this.#onError = deps.onError;
  }

  poke(): void {
    this.#poked = true;
    this.#sleeper?.abort();
  }

  async run(signal: AbortSignal): Promise<void> {
    const wake = () => this.poke();
    signal.addEventListener('abort', wake, { once: true });
    while (!signal.aborted) {
      this.#poked = false;
      try {
        await this.#runOnce();
      } catch (error) {
        this.#onError(error);
      }
      if (this.#poked || signal.aborted) continue;
      this.#sleeper = new AbortController();
      await this.#clock.sleep(this.#everyMs, this.#sleeper.signal);
      this.#sleeper = null;
    }
    signal.removeEventListener('abort', wake);
  }
}
