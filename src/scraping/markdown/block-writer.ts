import { fail } from '../scrape-failure.ts';

/**
 * More than any documentation page has: ten years of Python's changelog are 2 million characters. A page may grow when
 * it is converted, because each line of a nested list is indented and each link is made absolute.
 */
export const MAX_MARKDOWN = 32 * 1024 * 1024;

/** Deeper lists and quotes are written without further indentation; otherwise each line could grow without limit. */
const MAX_PREFIX = 48;

/**
 * Writes blocks one below the other, each line after the prefix of its lists and quotes. `lead` is what the next line
 * begins with instead: the bullet of an item, until its first line is written.
 */
export class BlockWriter {
  readonly #parts: string[] = [];
  #length = 0;
  #prefix = '';
  #lead: string | null = null;
  /** The prefix around the containers that have not written a line. */
  #outerPrefix = '';
  #gap: '\n' | '\n\n' = '\n\n';
  /** Blocks written so far. */
  count = 0;

  /** Whether the next block is the first of an item, a quote or a note. */
  get isLeading(): boolean {
    return this.#lead !== null;
  }

  /** The next block follows without an empty line. */
  tighten(): void {
    this.#gap = '\n';
  }

  /** Undoes that, if no block followed. */
  loosen(): void {
    this.#gap = '\n\n';
  }

  write(block: string): void {
    if (this.#parts.length > 0) {
      this.#push('\n');
      if (this.#gap === '\n\n') this.#push(`${(this.#lead === null ? this.#prefix : this.#outerPrefix).trimEnd()}\n`);
    }
    this.#gap = '\n\n';
    this.#push(this.#lead ?? this.#prefix);
    this.#lead = null;
    this.count += 1;
    if (this.#prefix === '' || !block.includes('\n')) this.#push(block);
    else this.#pushLines(block);
  }

  /**
   * Writes blocks with a `lead` before the first line and an `indent` before every other. Without any block nothing is
   * written, not even the lead.
   */
  nest(lead: string, indent: string, writeBlocks: () => void): void {
    if (this.#prefix.length >= MAX_PREFIX) {
      writeBlocks();
      return;
    }
    const prefix = this.#prefix;
    const outerLead = this.#lead;
    if (outerLead === null) this.#outerPrefix = prefix;
    this.#lead = (outerLead ?? prefix) + lead;
    this.#prefix = prefix + indent;
    const before = this.count;
    writeBlocks();
    this.#prefix = prefix;
    if (this.count === before) this.#lead = outerLead;
  }

  finish(): string {
    return this.#parts.length === 0 ? '' : `${this.#parts.join('')}\n`;
  }

  #pushLines(block: string): void {
    const lines = block.split('\n');
    const empty = this.#prefix.trimEnd();
    for (const [index, line] of lines.entries()) {
      if (index > 0) this.#push(line === '' ? `\n${empty}` : `\n${this.#prefix}`);
      this.#push(line);
    }
  }

  #push(text: string): void {
    this.#parts.push(text);
    this.#length += text.length;
    if (this.#length > MAX_MARKDOWN)
      fail('too_large', `the page makes more than ${MAX_MARKDOWN} characters of Markdown`);
  }
}
