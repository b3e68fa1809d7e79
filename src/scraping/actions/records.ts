type Data = Record<string, unknown>;

/** The data of an item while it is read: a record, and lists of records in it while loops run. */
export class Records {
  readonly data: Data = {};
  /** The innermost is the last; steps write into it. */
  #open: Data[] = [this.data];
  #lists: Data[][] = [];

  get depth(): number {
    return this.#open.length;
  }

  /** After a failure inside of a loop: what was begun there is left unfinished. */
  returnTo(depth: number): void {
    this.#open = this.#open.slice(0, depth);
    this.#lists = this.#lists.slice(0, depth - 1);
  }

  /** `owner.name` makes an object. */
  set(path: string, value: unknown): void {
    const names = path.split('.');
    const last = names.pop() ?? '';
    let at = this.#open.at(-1) ?? this.data;
    for (const name of names) {
      const known = Object.hasOwn(at, name) ? at[name] : undefined;
      const next: Data = isData(known) ? known : {};
      at[name] = next;
      at = next;
    }
    at[last] = value;
  }

  /** Records go into a list in this field until the function that it answers is called. */
  openList(field: string): () => void {
    const list: Data[] = [];
    this.set(field, list);
    const depth = this.#lists.length;
    this.#lists.push(list);
    return () => {
      this.#lists.length = Math.min(this.#lists.length, depth);
    };
  }

  openRecord(): void {
    const record: Data = {};
    this.#lists.at(-1)?.push(record);
    this.#open.push(record);
  }

  closeRecord(): void {
    this.#open.pop();
  }
}

function isData(value: unknown): value is Data {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
