import { hasBegun, liveLine, type Progress, progressLine, type Transfer } from './progress.ts';

/** The methods of a stream that are used here. It is stderr, because stdout is for the answer. */
export interface Screen {
  readonly isTTY?: boolean;
  readonly columns?: number;
  hasColors?(): boolean;
  write(text: string): unknown;
}

export interface DisplayDeps {
  readonly screen: Screen;
  readonly clock: { sleep(ms: number, signal?: AbortSignal): Promise<void> };
  readonly look: ProgressSource;
  readonly onStop?: () => void;
}

export type ProgressSource = () => Promise<Progress | Transfer>;

const CLEAR_LINE = '\r\x1b[2K';

/** Draws on a terminal at most ten times a second; without news once a second, because rate and ETA change too. */
const LIVE = { gapMs: 100, tickMs: 1000 };
/** In a pipe, each drawing is a permanent line. */
const PLAIN = { gapMs: 2000, tickMs: 10_000 };

/** Shows the progress of a job or a transfer while it runs: it looks when poked, and from time to time. */
export class ProgressDisplay {
  readonly #deps: DisplayDeps;
  readonly #isLive: boolean;
  readonly #stop = new AbortController();
  readonly #done: Promise<void>;
  #wake = Promise.withResolvers<void>();
  #lastLine = '';

  constructor(deps: DisplayDeps) {
    this.#deps = deps;
    this.#isLive = deps.screen.isTTY === true;
    // A display that fails must not end the job.
    this.#done = this.#run().catch(ignore);
  }

  /** Call it when something has happened. */
  poke(): void {
    this.#wake.resolve();
  }

  /** Prints a permanent line above the live one. */
  note(text: string): void {
    const { screen } = this.#deps;
    if (!this.#isLive) {
      screen.write(`${text}\n`);
      return;
    }
    screen.write(`${CLEAR_LINE}${text}\n${this.#lastLine}`);
  }

  /** Draws the final state, and leaves the line in place. */
  async stop(): Promise<void> {
    this.#stop.abort();
    this.#wake.resolve();
    await this.#done;
    await this.#draw('at last').catch(ignore);
    if (this.#isLive && this.#lastLine !== '') this.#deps.screen.write('\n');
    this.#deps.onStop?.();
  }

  async #run(): Promise<void> {
    const { gapMs, tickMs } = this.#isLive ? LIVE : PLAIN;
    const { clock } = this.#deps;
    const { signal } = this.#stop;
    while (!signal.aborted) {
      const tick = new AbortController();
      await Promise.race([this.#wake.promise, clock.sleep(tickMs, tick.signal)]);
      tick.abort();
      this.#wake = Promise.withResolvers<void>();
      if (signal.aborted) return;
      await this.#draw();
      await clock.sleep(gapMs, signal);
    }
  }

  async #draw(when: 'now' | 'at last' = 'now'): Promise<void> {
    const { screen, look } = this.#deps;
    const progress = await look();
    if (!hasBegun(progress)) return;
    if (this.#isLive) {
      // A pseudo-terminal without a known size reports 0.
      this.#lastLine = liveLine(progress, screen.columns || 80, screen.hasColors?.() === true);
      screen.write(CLEAR_LINE + this.#lastLine);
      return;
    }
    const line = progressLine(progress);
    const isNews = when === 'at last' ? positionOf(line) !== positionOf(this.#lastLine) : line !== this.#lastLine;
    if (isNews) screen.write(`${line}\n`);
    this.#lastLine = line;
  }
}

/** Without the rate, which changes all the time. */
function positionOf(line: string): string | undefined {
  return line.split(' · ')[0];
}

function ignore(): void {}
