import type { PageRequest, ReopenAnswer, RetryFilter } from '../../src/ports/ledger.ts';
import { MemoryItemBook } from '../support/memory/item-book.ts';
import { openMemoryLedger } from '../support/memory/ledger.ts';
import type { Plant } from './plant.ts';

/** Looks at the time alone at which the control was bad, and not at the last good one before it. */
class ForgettingItems extends MemoryItemBook {
  override reopen(
    jobId: string,
    filter: RetryFilter,
    page: PageRequest,
    openUntil: number,
    now: number,
  ): Promise<ReopenAnswer> {
    const since = filter.endedSince === undefined ? {} : { endedSince: now };
    return super.reopen(jobId, { ...filter, ...since }, page, openUntil, now);
  }
}

/** Mistakes about control items. */
export const CONTROL_BUGS: readonly Plant[] = [
  {
    name: 'negatives before a bad control are not reopened',
    ledger: () => openMemoryLedger({ items: ForgettingItems }),
  },
  {
    name: 'a control that is not found counts as good',
    worker: ({ leases }) => ({
      leases: {
        ...leases,
        reportControl: (jobId, report, now) => {
          const seen = { kind: 'data', digests: {}, wrong: '' } as const;
          return leases.reportControl(jobId, report.seen.kind === 'failed' ? { ...report, seen } : report, now);
        },
      },
    }),
  },
];
