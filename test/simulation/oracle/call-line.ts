/**
 * What was seen, in the order in which it took effect. Answers may come in another order: one that waits for the disk
 * comes after one that does not. So what was seen waits in line until everything before it is answered.
 */
export class CallLine {
  readonly #line: Place[] = [];

  /** Everything that was begun is answered. */
  get isEmpty(): boolean {
    return this.#line.length === 0;
  }

  /** `seen` is called with the answer, `unknown` when there is none: then it is unknown whether it had an effect. */
  async enter<T>(run: () => Promise<T>, seen: (answer: T) => void, unknown: () => void): Promise<T> {
    const place: Place = { note: null };
    this.#line.push(place);
    try {
      const answer = await run();
      place.note = () => seen(answer);
      return answer;
    } catch (error) {
      place.note = unknown;
      throw error;
    } finally {
      this.#moveOn();
    }
  }

  /** Something that happened elsewhere at this moment, and is judged by what the ledger held then. */
  note(note: () => void): void {
    this.#line.push({ note });
    this.#moveOn();
  }

  #moveOn(): void {
    for (let first = this.#line[0]; first !== undefined && first.note !== null; first = this.#line[0]) {
      this.#line.shift();
      first.note();
    }
  }
}

/** Null until it is known what happened. */
interface Place {
  note: (() => void) | null;
}
