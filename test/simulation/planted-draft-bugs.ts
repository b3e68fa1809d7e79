import type { DraftShelf } from '../support/memory/draft.ts';
import { MemoryJobBook } from '../support/memory/job-book.ts';

/** The commit is in force when only half of the items are. */
export class HalfDraftJobs extends MemoryJobBook {
  protected override draftShelf(): DraftShelf {
    const shelf = super.draftShelf();
    return {
      ...shelf,
      place: (entry) => {
        const { record, items } = entry;
        items.splice(Math.ceil(items.length / 2));
        this.core.write(entry, { ...record, counts: { ...record.counts, total: items.length } });
        shelf.place(entry);
      },
    };
  }
}
