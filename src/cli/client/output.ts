import { once } from 'node:events';

/** Whoever read our output has enough of it: `trawl jobs items JOB --all | head`. */
export class OutputClosed extends Error {
  constructor() {
    super('nobody reads the output any more');
    this.name = 'OutputClosed';
  }
}

/** Stdout that waits for whoever reads it, so that a long list is never in memory. */
export class Output {
  readonly #stream: NodeJS.WritableStream & { readonly writableNeedDrain?: boolean };
  #error: Error | null = null;
  #isUsed = false;

  constructor(stream: NodeJS.WritableStream & { readonly writableNeedDrain?: boolean } = process.stdout) {
    this.#stream = stream;
    stream.on('error', (error: Error) => {
      this.#error = error;
    });
  }

  /** Whether something of the answer is out: nothing that is not part of it may follow. */
  get isUsed(): boolean {
    return this.#isUsed;
  }

  async write(bytes: string | Uint8Array): Promise<void> {
    this.#check();
    this.#isUsed = true;
    if (this.#stream.write(bytes)) return;
    // An error ends the wait as well.
    await once(this.#stream, 'drain').catch(ignore);
    this.#check();
  }

  /** For `--json`: what the API answered. */
  async json(answer: unknown): Promise<void> {
    await this.write(`${JSON.stringify(answer, null, 2)}\n`);
  }

  #check(): void {
    if (this.#error === null) return;
    throw 'code' in this.#error && this.#error.code === 'EPIPE' ? new OutputClosed() : this.#error;
  }
}

function ignore(): void {}
