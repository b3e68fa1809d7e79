const BAR = 30;

/** A bar on a terminal, a line every tenth of the way in a pipe. */
export class Progress {
  readonly #seeds: number;
  readonly #startedAt = performance.now();
  #tenths = 0;

  constructor(seeds: number) {
    this.#seeds = seeds;
  }

  show(done: number, violations: number): void {
    const share = done / this.#seeds;
    const seconds = (performance.now() - this.#startedAt) / 1000;
    const left = Math.ceil((seconds / share) * (1 - share));
    const line = `${done}/${this.#seeds} seeds, ${Math.round(done / seconds)}/s, ${violations} violations, ${left} s left`;
    if (process.stdout.isTTY) {
      const bar = '█'.repeat(Math.round(share * BAR)).padEnd(BAR, '░');
      process.stdout.write(`\r\x1b[K${bar} ${line}`);
    } else if (Math.floor(share * 10) > this.#tenths) {
      this.#tenths = Math.floor(share * 10);
      process.stdout.write(`${line}\n`);
    }
  }

  clear(): void {
    if (process.stdout.isTTY) process.stdout.write('\r\x1b[K');
  }
}
