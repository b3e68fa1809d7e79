import { STEERING } from '../format.ts';

/** Bytes of a long text as a terminal may get them, piece by piece. */
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

  /** The prompt is to stand on a line of its own. */
  end(): string {
    return this.#isLineEnded ? '' : '\n';
  }
}

/** Lines and tabs are what a text is made of. */
function withoutSteering(found: string): string {
  return found.replaceAll(/[^\n\t]/g, '\uFFFD');
}
