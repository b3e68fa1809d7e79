import { STEERING } from '../format.ts';

/** Makes a long text safe for a terminal, piece by piece. */
export class TerminalText {
  readonly #decoder = new TextDecoder();
  #isLineEnded = true;

  push(bytes: Uint8Array): string {
    const text = this.#decoder
      .decode(bytes, { stream: true })
      .replaceAll('\r', '')
      .replaceAll(STEERING, withoutSteering);
    if (text !== '') this.#isLineEnded = text.endsWith('\n');
    return text;
  }

  /** The prompt must start on a new line. */
  end(): string {
    return this.#isLineEnded ? '' : '\n';
  }
}

/** Line breaks and tabs are allowed. */
function withoutSteering(found: string): string {
  return found.replaceAll(/[^\n\t]/g, '\uFFFD');
}
