import assert from 'node:assert/strict';
import type { ConfirmPlaces, IdIndex, IdJob, RunRef } from '../../../src/adapters/aws/ids/id-index.ts';

/** A job as its row would have it: the items by their places, and the list of runs. */
export class Job implements IdJob {
  readonly inc: string;
  readonly items: string[] = [];
  runs: readonly RunRef[] = [];

  constructor(inc: string) {
    this.inc = inc;
  }

  readonly confirm: ConfirmPlaces = async (pairs) => pairs.map(({ seq, itemId }) => this.items[seq] === itemId);

  async add(index: IdIndex, itemIds: readonly string[]): Promise<void> {
    const appended = await index.append(this, itemIds);
    assert.ok(appended !== 'moved');
    this.items.push(...itemIds);
    this.runs = appended.runs;
    await appended.committed();
  }

  /** The job as it is read at this moment. */
  snapshot(): IdJob {
    return { inc: this.inc, runs: this.runs };
  }
}

export function idsOf(prefix: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}-${index}`);
}
