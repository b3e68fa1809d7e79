import { once } from 'node:events';
import { errorCode } from '../../domain/error-code.ts';

/** The reader of our output closed it, as in `trawl jobs items JOB --all | head`. */
export class OutputClosed extends Error {
  constructor() {
    super('the output was closed');
    this.name = 'OutputClosed';
  }
}

/** Stdout that waits for its reader, so that a long list is never in memory. */
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

  /** Whether part of the answer was printed; nothing else may follow it. */
  get isUsed(): boolean {
    return this.#isUsed;
  }

  async write(bytes: string | Uint8Array): Promise<void> {
    this.#check();
    this.#isUsed = true;
    if (this.#stream.write(bytes)) return;
    // An error also ends the wait.
    await once(this.#stream, 'drain').catch(ignore);
    this.#check();
  }

  /** For `--json`. */
  async json(answer: unknown): Promise<void> {
    await this.write(`${JSON.stringify(answer, null, 2)}\n`);
  }

  #check(): void {
    if (this.#error === null) return;
    throw errorCode(this.#error) === 'EPIPE' ? new OutputClosed() : this.#error;
  }
}

function ignore(): void {}
