/**
 * What happened in a run, as one hash over every line and the last lines in full. Two runs of one seed that differ in a
 * single call, answer or event have different hashes.
 */
export class Trace {
  readonly #last: string[] = [];
  readonly #print: ((line: string) => void) | null;
  #low = 0x811c9dc5;
  #high = 0x1234567;
  lines = 0;

  constructor(print: ((line: string) => void) | null) {
    this.#print = print;
  }

  add(at: number, who: string, what: string): void {
    const line = `${at.toFixed(1)} ${who} ${what}`;
    this.lines += 1;
    this.#hash(line);
    this.#last[this.lines % KEPT] = line;
    this.#print?.(line);
  }

  get hash(): string {
    return hex(this.#high) + hex(this.#low);
  }

  last(): string[] {
    const begin = Math.max(1, this.lines - KEPT + 1);
    return Array.from({ length: this.lines - begin + 1 }, (_, index) => this.#last[(begin + index) % KEPT] ?? '');
  }

  /** Two 32-bit FNV-1a hashes side by side: chance collisions do not matter here, speed does. */
  #hash(line: string): void {
    let low = this.#low;
    let high = this.#high;
    for (let index = 0; index < line.length; index += 1) {
      const code = line.charCodeAt(index);
      low = Math.imul(low ^ code, 0x01000193);
      high = Math.imul(high ^ (code + index), 0x5bd1e995);
    }
    this.#low = low ^ 10;
    this.#high = high ^ (low >>> 15);
  }
}

const KEPT = 40;

function hex(value: number): string {
  return (value >>> 0).toString(16).padStart(8, '0');
}
