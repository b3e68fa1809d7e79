import type { NewItem } from '../../domain/item.ts';
import type { NewJob } from '../../domain/job.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Faults } from '../../ports/faults.ts';
import type { CreateAnswer, JobBook } from '../../ports/ledger.ts';
import { MAX_INLINE_ITEMS } from './parse-new-job.ts';

interface CreateDeps {
  readonly ledger: Pick<JobBook, 'createJob' | 'draftJob'>;
  readonly clock: Clock;
  readonly faults: Faults;
}

/**
 * Creates a job in one step if it has few enough items; otherwise through a draft, so that it is all or nothing. `count`
 * is the number of items in all chunks.
 */
export async function createInChunks(
  { ledger, clock, faults }: CreateDeps,
  job: NewJob,
  count: number,
  chunks: AsyncIterable<readonly NewItem[]> | Iterable<readonly NewItem[]>,
): Promise<CreateAnswer> {
  if (count <= MAX_INLINE_ITEMS) {
    const items: NewItem[] = [];
    for await (const chunk of chunks) items.push(...chunk);
    return await ledger.createJob(job, items, clock.now());
  }
  const draft = await ledger.draftJob();
  try {
    let place = 0;
    for await (const chunk of chunks) {
      const repeated = await draft.add(place, chunk);
      if (repeated.length > 0) return { kind: 'duplicates', repeated };
      place += chunk.length;
      await faults.at('between-draft-chunks');
      await clock.turn();
    }
    await faults.at('after-draft-before-commit');
    return await draft.commit(job, clock.now());
  } finally {
    await draft.drop().catch(() => {});
  }
}
