import type { BadLineCode } from '../../contract/item-answers.ts';
import type { Digest } from '../../domain/artifact.ts';
import type { NewItem } from '../../domain/item.ts';
import { SeenIds } from '../../domain/seen-ids.ts';
import { SpreadSample } from '../../domain/spread-sample.ts';
import { shortened } from './judge-items.ts';
import type { BadLine, ReadItem } from './read-items.ts';

/** The result of checking the inputs; nothing was created. */
export interface InputReport {
  /** Lines, rows or entries that were read. */
  readonly received: number;
  /** Items that a job of this list would have. */
  readonly items: number;
  readonly bad: number;
  /** The first of them. */
  readonly badLines: readonly { readonly line: number; readonly code: BadLineCode; readonly problem: string }[];
  /** Lines with the id of an earlier line: with the same input, or with another (`conflicts`). */
  readonly duplicates: number;
  readonly conflicts: number;
  /** The first of them. */
  readonly conflicting: readonly { readonly itemId: string; readonly line: number; readonly firstLine: number }[];
  /** Whether part of the list could not be read at all. */
  readonly isIncomplete: boolean;
  readonly ignoredColumns: readonly string[];
  /** Ids that later ones were compared with; fewer than `items` only for a very long list. */
  readonly comparedIds: number;
}

const SHOWN = 20;
/** Limit for the inputs kept for the sample. */
const SAMPLE_BYTES = 32 * 2 ** 20;

/**
 * Counts what is right and wrong with a list while it is read, and draws a sample of its good items. It takes about 32
 * bytes per id, and nothing else grows with the list.
 */
export class InputCheck {
  readonly #ids: SeenIds;
  readonly #sample: SpreadSample<NewItem>;
  readonly #badLines: InputReport['badLines'][number][] = [];
  readonly #conflicting: InputReport['conflicting'][number][] = [];
  #received = 0;
  #bad = 0;
  #duplicates = 0;
  #conflicts = 0;
  #items = 0;
  #isIncomplete = false;
  #ignoredColumns: readonly string[] = [];

  constructor({ digest, sampleSize, chance }: { digest: Digest; sampleSize: number; chance: () => number }) {
    this.#ids = new SeenIds(digest);
    this.#sample = new SpreadSample({ size: sampleSize, chance, maxBytes: SAMPLE_BYTES });
  }

  take({ item, line }: ReadItem): void {
    this.#received += 1;
    const before = this.#ids.add(item, line);
    if (before === null) {
      this.#items += 1;
      this.#sample.add(item, JSON.stringify(item.input).length);
      return;
    }
    this.#duplicates += 1;
    if (!before.differs) return;
    this.#conflicts += 1;
    if (this.#conflicting.length < SHOWN) {
      this.#conflicting.push({ itemId: item.itemId, line, firstLine: before.firstLine });
    }
  }

  refuse({ line, code = 'unreadable', problem }: BadLine): void {
    this.#received += 1;
    this.#bad += 1;
    if (code === 'lines_lost' || code === 'rest_unread') this.#isIncomplete = true;
    if (this.#badLines.length < SHOWN) this.#badLines.push({ line, code, problem: shortened(problem) });
  }

  ignore(columns: readonly string[]): void {
    if (columns.length > 0) this.#ignoredColumns = columns;
  }

  report(): InputReport {
    return {
      received: this.#received,
      items: this.#items,
      bad: this.#bad,
      badLines: this.#badLines,
      duplicates: this.#duplicates,
      conflicts: this.#conflicts,
      conflicting: this.#conflicting,
      isIncomplete: this.#isIncomplete,
      ignoredColumns: this.#ignoredColumns,
      comparedIds: this.#ids.count,
    };
  }

  sample(): readonly NewItem[] {
    return this.#sample.values();
  }
}
