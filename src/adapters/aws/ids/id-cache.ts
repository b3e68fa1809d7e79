import { IdFilter } from './id-filter.ts';
import type { RunRef } from './id-run.ts';
import type { IdTable } from './id-table.ts';

/**
 * Runs that were read or written, by name: a run never changes, so nothing here becomes stale. A run is cached
 *
 *   as a table    any question about an id is answered without a request
 *   as a filter   a third of the size: a question about an id that does not exist is answered without a request
 *   not at all    its rows are read
 *
 * When the limit is passed, the least recently used tables become filters; when all of them have, filters are dropped.
 */
export class IdCache {
  readonly #maxBytes: number;
  /** Most recently used last. */
  readonly #known = new Map<string, IdTable | IdFilter>();
  /** Parts read one by one, of runs that are not cached as a table. */
  readonly #partsRead = new Map<string, number>();
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get(inc: string, run: RunRef): IdTable | IdFilter | null {
    const name = nameOf(inc, run);
    const known = this.#known.get(name);
    if (known === undefined) return null;
    this.#known.delete(name);
    this.#known.set(name, known);
    return known;
  }

  put(inc: string, run: RunRef, table: IdTable): void {
    const name = nameOf(inc, run);
    this.#forget(name);
    this.#partsRead.delete(name);
    this.#known.set(name, table);
    this.#bytes += sizeOf(table);
    this.#shrink();
  }

  /**
   * Whether to read the whole run instead of these parts: if they, and those read before, are as many as it has. So a
   * caller that asks for one id reads little, and one that keeps asking soon reads nothing more.
   */
  isWorthReading(inc: string, run: RunRef, parts: number): boolean {
    const name = nameOf(inc, run);
    const read = (this.#partsRead.get(name) ?? 0) + parts;
    if (this.#partsRead.size >= MAX_RUNS_COUNTED) this.#partsRead.clear();
    this.#partsRead.set(name, read);
    return read >= run.parts;
  }

  forget(inc: string, runs: readonly RunRef[]): void {
    for (const run of runs) {
      this.#forget(nameOf(inc, run));
      this.#partsRead.delete(nameOf(inc, run));
    }
  }

  forgetJob(inc: string): void {
    for (const name of this.#known.keys()) if (name.startsWith(`${inc}#`)) this.#forget(name);
    for (const name of this.#partsRead.keys()) if (name.startsWith(`${inc}#`)) this.#partsRead.delete(name);
  }

  #forget(name: string): void {
    const known = this.#known.get(name);
    if (known === undefined) return;
    this.#known.delete(name);
    this.#bytes -= sizeOf(known);
  }

  #shrink(): void {
    for (const [name, known] of this.#known) {
      if (this.#bytes <= this.#maxBytes) return;
      if (known instanceof IdFilter) continue;
      const filter = new IdFilter(known.hashes(), known.entries);
      // It keeps its place among the others.
      this.#known.set(name, filter);
      this.#bytes += sizeOf(filter) - sizeOf(known);
    }
    for (const name of this.#known.keys()) {
      if (this.#bytes <= this.#maxBytes) return;
      this.#forget(name);
    }
  }
}

const MAX_RUNS_COUNTED = 10_000;
/** Overhead of the objects around the numbers: a million runs of one entry each are not small. */
const OVERHEAD_BYTES = 400;

function sizeOf(known: IdTable | IdFilter): number {
  return known.bytes + OVERHEAD_BYTES;
}

function nameOf(inc: string, run: RunRef): string {
  return `${inc}#${run.id}`;
}
